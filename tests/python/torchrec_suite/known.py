"""Tests of TorchRec that its planner passes and the drop-in does not, with the reason."""

OWN_PLAN = "it asserts the shards of TorchRec's own plan, and best mode finds a better one"
DIFFERENCES = {
    "compat": {},
    "best": {"test_planners.TestAutoPlannerWithScaleupProposer.test_planner_with_virtual_table": OWN_PLAN},
}
