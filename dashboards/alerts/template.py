"""Words of others in labels and annotations, which Prometheus and Grafana run as Go templates.

Grafana also puts its environment in place of `$NAME` in the labels of a provisioned file, and of `${NAME}` in
its annotations.
"""

import json

__all__ = ["as_said"]


def as_said(text: str) -> str:
    """A template whose result is the text: a `{{` or `$` in it begins nothing."""
    if "{{" not in text and "$" not in text:
        return text
    literal = json.dumps(text, ensure_ascii=False).replace("$", "\\u0024")
    return f"{{{{ {literal} }}}}"
