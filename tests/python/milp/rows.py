"""A MILP as columns and rows, and HiGHS, which solves it."""

import highspy
import numpy

TOLERANCE = 1e-9
NO_LIMIT = highspy.kHighsInf


class Rows:
    """A MILP under construction. Every column is at least 0; `cost` is minimised."""

    seconds = 20.0  # that one solution may take

    def __init__(self):
        self.upper, self.cost, self.whole = [], [], []
        self.row_lower, self.row_upper, self.start = [], [], [0]
        self.index, self.value = [], []

    def column(self, upper, cost=0.0, whole=True):
        self.upper.append(upper)
        self.cost.append(cost)
        self.whole.append(whole)
        return len(self.upper) - 1

    def row(self, lower, upper, terms):
        """`terms`: pairs of a column and its factor; a column may occur several times."""
        sums = {}
        for column, factor in terms:
            sums[column] = sums.get(column, 0) + factor
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        self.index += sums.keys()
        self.value += sums.values()
        self.start.append(len(self.index))

    def solve(self, presolve=True):
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.upper), len(self.row_lower)
        model.col_cost_ = numpy.array(self.cost, dtype=numpy.double)
        model.col_lower_ = numpy.zeros(len(self.upper))
        model.col_upper_ = numpy.array(self.upper, dtype=numpy.double)
        model.row_lower_ = numpy.array(self.row_lower, dtype=numpy.double)
        model.row_upper_ = numpy.array(self.row_upper, dtype=numpy.double)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = numpy.array(self.start, dtype=numpy.int32)
        model.a_matrix_.index_ = numpy.array(self.index, dtype=numpy.int32)
        model.a_matrix_.value_ = numpy.array(self.value, dtype=numpy.double)
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if w else kinds.kContinuous for w in self.whole]
        solver = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("time_limit", self.seconds),
                            ("presolve", "choose" if presolve else "off"),
                            ("mip_rel_gap", 1e-8), ("mip_abs_gap", 1e-9),
                            ("mip_feasibility_tolerance", TOLERANCE),
                            ("primal_feasibility_tolerance", TOLERANCE)):
            solver.setOptionValue(name, value)
        solver.passModel(model)
        solver.run()
        return solver
