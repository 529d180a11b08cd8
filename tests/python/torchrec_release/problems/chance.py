"""Draws that several parts of a problem need."""

import math
import random


class Chance(random.Random):
    """A generator of random values. The same seed gives the same values."""

    def maybe(self, probability):
        return self.random() < probability

    def perhaps(self, probability, of, key, value):
        """Sets a member, or leaves it out."""
        if self.maybe(probability):
            of[key] = value

    def flag(self, probability, of, key):
        """Sets a member to true, or rarely to false, which is what leaving it out says, too."""
        if self.maybe(probability):
            of[key] = True
        else:
            self.perhaps(0.02, of, key, False)

    def whole(self, least, most):
        """Returns a whole number whose magnitude is uniform."""
        value = math.exp(self.uniform(math.log(least), math.log(most + 1)))
        return min(max(int(value), least), most)

    def some(self, values, least=1):
        """Returns at least `least` of the values, in any order."""
        return self.sample(values, self.randint(least, len(values)))

    def often(self, weights):
        """Returns a key of `weights`, as often as its value says."""
        return self.choices(list(weights), list(weights.values()))[0]
