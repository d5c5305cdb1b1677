"""What claims are judged by: named, precisely defined numbers of a run or of a sweep.

A metric of scope ``run`` takes one :class:`~unpause.result.Run`; one of scope ``sweep`` takes the
runs of one scheme with one seed, in the order of the sweep; one of scope ``seeds`` those with every
seed; one of scope ``model`` is computed from a mechanism or a model alone. Further arguments stand
in the claims file. A metric answers with a number in the unit given to :func:`metric`; infinity
means "not before the run ended". It raises :class:`~unpause.series.Unavailable` where the result
lacks what it needs.

Links and the side on which a PAUSE counts are as in :mod:`unpause.series`. "Burst start" is the
start of the first flow of the traffic entry named by `burst`.
"""

from unpause.metrics.aggregate import (
    aggregate_deviation,
    aggregate_mean_ratio,
    aggregate_settled_ms,
)
from unpause.metrics.controller import (
    controller_rate_after_tree_gbps,
    decrease_periods,
    highest_controller_rate_gbps,
    lowest_controller_rate_gbps,
    periods_to_share,
    recovery_slope_gbps_per_ms,
)
from unpause.metrics.deadlock import deadlocked_share, wilson
from unpause.metrics.fct import (
    fct_ms,
    fct_of_size_ms,
    query_ms,
    swept_fct_of_size_ms,
    swept_fct_of_size_ratio,
    swept_fct_spread,
    unfinished_flows,
)
from unpause.metrics.model import (
    fluid_aggregate_after_a_loop,
    fluid_halving_loops,
    fluid_overload_loops,
    fluid_queue_swing,
    fluid_rate_swing,
    fluid_share_percent,
    fluid_underload_loops,
    pcn_increase_percent,
    tofino_division_error_percent,
)
from unpause.metrics.pause import (
    first_pause_us,
    pause_count,
    pause_lag_us,
    pause_rate_kps,
    paused_ms,
    tree_duration_ms,
    tree_duration_rtt,
)
from unpause.metrics.queue import (
    largest_ingress_kb,
    largest_queue_kb,
    mean_queue_kb,
    mean_queue_packets,
    queue_drained_ms,
    swept_first_drops,
)
from unpause.metrics.registry import METRICS, Metric, metric
from unpause.metrics.scaling import (
    jain_index,
    swept_jain_index,
    swept_pause_rate,
    swept_queue_kb,
    swept_queue_trend,
    swept_utilisation,
    window_pause_rate,
)
from unpause.metrics.seeds import (
    fairer_share,
    median_goodput_ratio,
    median_max_over_min,
    median_wire_rate_gbps,
    most_notifications,
    most_pauses,
    notification_ratio,
)
from unpause.metrics.sweep import (
    swept_crossing_ratio,
    swept_fct_trend,
    swept_goodput_gbps,
    swept_goodput_trend,
    swept_link_gbps,
    swept_link_trend,
    swept_pause_count,
    swept_pause_exceptions,
    swept_pause_rate_trend,
    swept_share_error,
    swept_victim_error,
)
from unpause.metrics.switch import (
    dropped_packets,
    dropped_ppm,
    pause_events,
    stalled_ms,
    stalls,
)
from unpause.metrics.throughput import (
    burst_duration_ms,
    flows_gbps,
    goodput_gbps,
    goodput_ratio,
    link_gbps,
    lost_megabytes,
    throughput_loss_ms,
    time_to_fair_ms,
    utilisation,
    wire_rate_gbps,
)
from unpause.metrics.workload import (
    completion_rate,
    pause_share,
    sized_fct_ms,
    workload_pause_kps,
    workload_paused,
)

__all__ = [
    "METRICS",
    "Metric",
    "aggregate_deviation",
    "aggregate_mean_ratio",
    "aggregate_settled_ms",
    "burst_duration_ms",
    "completion_rate",
    "controller_rate_after_tree_gbps",
    "deadlocked_share",
    "decrease_periods",
    "dropped_packets",
    "dropped_ppm",
    "fairer_share",
    "fct_ms",
    "fct_of_size_ms",
    "first_pause_us",
    "flows_gbps",
    "fluid_aggregate_after_a_loop",
    "fluid_halving_loops",
    "fluid_overload_loops",
    "fluid_queue_swing",
    "fluid_rate_swing",
    "fluid_share_percent",
    "fluid_underload_loops",
    "goodput_gbps",
    "goodput_ratio",
    "highest_controller_rate_gbps",
    "jain_index",
    "largest_ingress_kb",
    "largest_queue_kb",
    "link_gbps",
    "lost_megabytes",
    "lowest_controller_rate_gbps",
    "mean_queue_kb",
    "mean_queue_packets",
    "median_goodput_ratio",
    "median_max_over_min",
    "median_wire_rate_gbps",
    "metric",
    "most_notifications",
    "most_pauses",
    "notification_ratio",
    "pause_count",
    "pause_events",
    "pause_lag_us",
    "pause_rate_kps",
    "pause_share",
    "paused_ms",
    "pcn_increase_percent",
    "periods_to_share",
    "query_ms",
    "queue_drained_ms",
    "recovery_slope_gbps_per_ms",
    "sized_fct_ms",
    "stalled_ms",
    "stalls",
    "swept_crossing_ratio",
    "swept_fct_of_size_ms",
    "swept_fct_of_size_ratio",
    "swept_fct_spread",
    "swept_fct_trend",
    "swept_first_drops",
    "swept_goodput_gbps",
    "swept_goodput_trend",
    "swept_jain_index",
    "swept_link_gbps",
    "swept_link_trend",
    "swept_pause_count",
    "swept_pause_exceptions",
    "swept_pause_rate",
    "swept_pause_rate_trend",
    "swept_queue_kb",
    "swept_queue_trend",
    "swept_share_error",
    "swept_utilisation",
    "swept_victim_error",
    "throughput_loss_ms",
    "time_to_fair_ms",
    "tofino_division_error_percent",
    "tree_duration_ms",
    "tree_duration_rtt",
    "unfinished_flows",
    "utilisation",
    "wilson",
    "window_pause_rate",
    "wire_rate_gbps",
    "workload_pause_kps",
    "workload_paused",
]
