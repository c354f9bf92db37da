"""What a trained planner computes: distances decoded from its summary, its attention, value iteration."""

from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.planner.attention import AttentionKinds, GridAttention, StreetAttention
from rapidtask.experiments.planner.decodings import gather_decodings
from rapidtask.experiments.planner.distances import DecodingAccuracy, DecodingLoss, DecodingReach, Emergence
from rapidtask.experiments.planner.maps import GridMap, StreetDistance, StreetLikelihood
from rapidtask.experiments.planner.value_iteration import ValueIteration

EXPERIMENT = Experiment(
    "Results: what the planner computes",
    (
        DecodingLoss(),
        DecodingAccuracy(),
        DecodingReach(),
        StreetLikelihood(),
        StreetDistance(),
        GridMap(),
        ValueIteration(),
        AttentionKinds(),
        GridAttention(),
        StreetAttention(),
        Emergence(),
    ),
    gather_decodings,
)
