"""How the product's weights came about, from their own file, in a sentence or two."""

import json
from pathlib import Path
from typing import Any

__all__ = ["told_weights"]


def told_weights(path: Path) -> str:
    """Return what the proof says of the weights, with the answers on families left out of the fit."""
    fitted: dict[str, Any] = json.loads(path.read_text()).get("fitted_on", {})
    if "runs" not in fitted:
        return f"The layers' weights are not fitted: {fitted.get('how', 'nothing is said')}."
    text = (
        f"The layers' weights are fitted on {fitted['runs']} runs of the calibration half"
        f" ({len(fitted.get('families', []))} families, about {fitted['requests']:,} requests a window),"
        " the temperatures and the threshold of p on fault families left out one at a time"
    )
    left = fitted.get("left_out")
    if not left:
        return f"{text}."
    return (
        f"{text}: of {left['to_name']} faults so asked {left['named']} were named, {left['wrong']} of all"
        f" names wrongly, {left['named_where_nothing_broke']} where nothing was broken."
    )
