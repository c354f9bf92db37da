"""What a trained planner computes: distances decoded from its summary, its attention, value iteration."""

from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.planner import attention, distances, maps
from rapidtask.experiments.planner.decodings import gather_decodings

EXPERIMENT = Experiment(
    "Results: what the planner computes",
    (
        distances.DecodingLoss(),
        distances.DecodingAccuracy(),
        distances.DecodingReach(),
        maps.StreetLikelihood(),
        maps.StreetDistance(),
        maps.GridMap(),
        distances.ValueIteration(),
        attention.AttentionKinds(),
        attention.GridAttention(),
        attention.StreetAttention(),
        distances.Emergence(),
    ),
    gather_decodings,
)
