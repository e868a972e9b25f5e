"""Words of others in labels and annotations, which Prometheus and Grafana run as Go templates."""

__all__ = ["as_said"]


def as_said(text: str) -> str:
    """The text as a template whose result is that text: a `{{` in a title begins nothing."""
    return text.replace("{{", '{{ "{{" }}')
