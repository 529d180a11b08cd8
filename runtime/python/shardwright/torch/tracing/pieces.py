"""What a rank holds of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


@dataclass(frozen=True)
class Piece:
    """In every dimension `shape` of the `whole` tensor's elements, the first of which is `start`."""

    whole: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]

    def is_cut(self, dim: int) -> bool:
        return self.shape[dim] != self.whole[dim]


def piece_of(whole: Sequence[int], words: Sequence[str], sizes: Sequence[int],
             coordinates: Sequence[int]) -> Piece:
    """The piece of the rank with these coordinates on a mesh of these sizes. Outer axes cut first.

    Pieces are those of torch.chunk: all of ceil(n / ranks) elements except the last ones, which may
    be empty. Partial values have all elements.
    """
    start, shape = [0] * len(whole), list(map(int, whole))
    for word, size, coordinate in zip(words, sizes, coordinates):
        if word[0] == "S" and int(word[1:]) < len(shape):
            dim = int(word[1:])
            length = -(-shape[dim] // size)
            first = min(length * coordinate, shape[dim])
            start[dim] += first
            shape[dim] = min(length, shape[dim] - first)
    return Piece(tuple(map(int, whole)), tuple(start), tuple(shape))
