"""The kinds of panel that dashboards are made of, and what every one of them says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders import common, stat, table, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphDrawStyle,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DynamicConfigValue,
    FieldColorModeId,
    Panel,
    Threshold,
    ThresholdsMode,
)

from otel_attrib.dashboards.config import GRIDS, STEP
from otel_attrib.dashboards.target import PROMETHEUS, SOURCE

__all__ = [
    "AnyPanel",
    "Said",
    "bounded",
    "colored",
    "dots",
    "field",
    "figures",
    "fixed",
    "hidden",
    "legend",
    "lines",
    "listing",
    "source",
    "stacked",
    "steps",
    "tooltip",
]

AnyPanel = Builder[Panel]
Queries = Sequence[Builder[Dataquery]]

_HEIGHT: Final = 8
_DOT: Final = 9


@dataclass(frozen=True, slots=True)
class Said:
    """What a panel shows: its definition, its unit, and how far it may be off."""

    definition: str
    unit: str
    bound: str

    def text(self) -> str:
        """The panel's description, in Markdown."""
        return f"{self.definition}\n\nUnit: {self.unit}.\n\nBound: {self.bound}."


def source(prometheus: bool = False) -> DataSourceRef:
    """The data source that the viewer chose."""
    chosen = PROMETHEUS if prometheus else SOURCE
    return DataSourceRef(type_val=chosen["type"], uid=chosen["uid"])


def legend(*calcs: str) -> common.VizLegendOptions:
    """A table under the graph; what happened last and at worst is what is asked first."""
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(LegendDisplayMode.TABLE)
        .placement(LegendPlacement.BOTTOM)
        .calcs(list(calcs or ("lastNotNull", "max")))
    )


def tooltip() -> common.VizTooltipOptions:
    """Every series at the cursor, the greatest first."""
    return common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)


def lines(
    title: str,
    said: Said,
    queries: Queries,
    unit: str,
    span: str = "half",
    display: str = "",
    prometheus: bool = False,
) -> timeseries.Panel:
    """Lines over time. Where nothing was measured there is a gap, never a zero."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(said.text())
        .datasource(source(prometheus))
        .unit(unit)
        .span(GRIDS[span])
        .height(_HEIGHT)
        .interval(STEP)
        .line_width(1)
        .fill_opacity(0)
        .span_nulls(False)
        .show_points(VisibilityMode.AUTO)
        .axis_soft_min(0)
        .color_scheme(builders.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .legend(legend())
        .tooltip(tooltip())
    )
    for query in queries:
        panel = panel.with_target(query)
    return panel.display_name(display) if display else panel


def stacked(panel: timeseries.Panel) -> timeseries.Panel:
    """The same with its series on top of one another, for parts that add up."""
    return panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).fill_opacity(70).line_width(0)


def bounded(panel: timeseries.Panel, *values: tuple[float, str]) -> timeseries.Panel:
    """The same with dashed lines at limits."""
    style = common.GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED)
    return panel.thresholds(steps("transparent", *values)).thresholds_style(style)


def colored(panel: timeseries.Panel, colors: Mapping[str, str]) -> timeseries.Panel:
    """The same with a colour for each named series."""
    for name, color in colors.items():
        panel = panel.override_by_name(name, [fixed(color)])
    return panel


def dots(panel: timeseries.Panel, name: str, links: DynamicConfigValue) -> timeseries.Panel:
    """The same with the series `name` as dots that can be clicked; its columns beside them are not drawn."""
    shown = [
        field("custom.drawStyle", GraphDrawStyle.POINTS.value),
        field("custom.showPoints", VisibilityMode.ALWAYS.value),
        field("custom.pointSize", _DOT),
        links,
    ]
    return panel.override_by_name(name, shown).override_by_regexp("^(from_ms|to_ms)$", hidden())


def listing(
    title: str, said: Said, query: Builder[Dataquery], span: str = "whole", height: int = _HEIGHT
) -> table.Panel:
    """Rows as they come; the columns that only links need are not shown."""
    return (
        table.Panel()
        .title(title)
        .description(said.text())
        .datasource(source())
        .span(GRIDS[span])
        .height(height)
        .show_header(True)
        .with_target(query)
        .override_by_regexp("^(from_ms|to_ms)$", [field("custom.hidden", True)])
        .override_by_regexp(".*_ms$", [field("unit", "ms"), field("decimals", 1)])
        .override_by_regexp(".*_share$", [field("unit", "percentunit"), field("decimals", 1)])
    )


def figures(
    title: str,
    said: Said,
    query: Builder[Dataquery],
    shown: Mapping[str, tuple[str, str]],
    span: str = "whole",
    prometheus: bool = False,
) -> stat.Panel:
    """One big number a column of the only row; `shown` has each column's name for people, and its unit."""
    panel = (
        stat.Panel()
        .title(title)
        .description(said.text())
        .datasource(source(prometheus))
        .span(GRIDS[span])
        .height(4)
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.VALUE)
        .thresholds(steps("text"))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .no_value("no data")
        .with_target(query)
    )
    for column, (name, unit) in shown.items():
        panel = panel.override_by_name(column, [field("displayName", name), field("unit", unit)])
    return panel


def steps(base: str, *values: tuple[float, str]) -> builders.ThresholdsConfig:
    """Thresholds: `base` below the first value."""
    found = [Threshold(value=None, color=base), *(Threshold(value=at, color=color) for at, color in values)]
    return builders.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(found)


def field(name: str, value: object) -> DynamicConfigValue:
    """One property of an override."""
    return DynamicConfigValue(id_val=name, value=value)


def fixed(color: str) -> DynamicConfigValue:
    """One colour, whatever the value."""
    return field("color", {"mode": "fixed", "fixedColor": color})


def hidden() -> list[DynamicConfigValue]:
    """Not drawn and not in the legend, yet there for links."""
    return [field("custom.hideFrom", {"viz": True, "legend": True, "tooltip": True})]
