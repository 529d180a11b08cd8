#include "search/redistribution/transfer/piece_cutter.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shardwright::redistribution {
namespace {

// A place in the tensors of a group: in front of row `row` of a box of tensor `tensor`.
struct CutPlace {
  std::int64_t tensor = 0;
  std::int64_t row = 0;
};

struct Sent {
  std::uint32_t from;
  std::uint32_t to;
  TransferPiece piece;
};

class PieceCutter {
 public:
  PieceCutter(const TransferProblem& problem, const Demands& demands)
      : problem_(problem), demands_(demands) {}

  void add_need(const Need& need, const std::vector<SenderShare>& shares) {
    std::size_t share = 0;
    std::int64_t begin = 0;  // of the piece, in bytes of the need
    std::int64_t end = shares.empty() ? 0 : shares[0].bytes;  // of the sender's stretch
    for (std::size_t i = need.first; i < need.last; ++i) {
      const WantedPiece& piece = demands_.wanted[i];
      CutPlace from;
      for (; end < begin + piece.bytes; end += shares[++share].bytes) {
        const CutPlace to = place_at(piece, end - begin);
        add(piece, shares[share].from, from, to);
        from = to;
      }
      add(piece, shares[share].from, from, {num_tensors(piece.group), 0});
      begin += piece.bytes;
    }
  }

  std::vector<Transfer> transfers() {
    for (const KeptPiece& kept : demands_.kept) {
      sent_.push_back({kept.rank, kept.rank,
                       {kept.group, 0, static_cast<std::uint32_t>(num_tensors(kept.group)),
                        demands_.boxes[kept.box]}});
    }
    const auto key = [](const Sent& sent) {
      return std::make_tuple(sent.from, sent.to, sent.piece.group, sent.piece.first);
    };
    std::stable_sort(sent_.begin(), sent_.end(),
                     [&](const Sent& a, const Sent& b) { return key(a) < key(b); });
    std::vector<Transfer> transfers;
    for (Sent& sent : sent_) {
      const Rank from = problem_.ranks()[sent.from];
      const Rank to = problem_.ranks()[sent.to];
      if (transfers.empty() || transfers.back().from != from || transfers.back().to != to)
        transfers.push_back({from, to, 0, {}, {}});
      transfers.back().bytes += num_elements(sent.piece.box) * sent.piece.count *
                                problem_.groups()[sent.piece.group].item_bytes;
      transfers.back().pieces.push_back(std::move(sent.piece));
    }
    return transfers;
  }

 private:
  std::int64_t num_tensors(std::uint32_t group) const {
    return static_cast<std::int64_t>(problem_.groups()[group].tensors.size());
  }

  // The longest dimension, the first one of equals. Precondition: the box has dimensions.
  static std::size_t row_dim(const Box& box) {
    const auto longest =
        std::max_element(box.begin(), box.end(), [](const Interval& a, const Interval& b) {
          return a.size() < b.size();
        });
    return static_cast<std::size_t>(longest - box.begin());
  }

  // The place closest to so many bytes.
  CutPlace place_at(const WantedPiece& piece, std::int64_t bytes) const {
    const Box& box = demands_.boxes[piece.box];
    const std::int64_t of_tensor = piece.bytes / num_tensors(piece.group);
    const std::int64_t rows = box.empty() ? 1 : box[row_dim(box)].size();
    const std::int64_t of_row = of_tensor / rows;
    const std::int64_t row = (bytes % of_tensor + of_row / 2) / of_row;
    const std::int64_t tensor = bytes / of_tensor;
    return row == rows ? CutPlace{tensor + 1, 0} : CutPlace{tensor, row};
  }

  // Adds what lies between two places: rows of the first tensor, whole tensors, rows of the last.
  void add(const WantedPiece& piece, std::uint32_t sender, CutPlace from, CutPlace to) {
    if (from.tensor < to.tensor && from.row > 0) {
      add_rows(piece, sender, from.tensor, from.row, -1);
      from = {from.tensor + 1, 0};
    }
    if (from.tensor < to.tensor) {
      add_box(piece, sender, from.tensor, to.tensor - from.tensor, demands_.boxes[piece.box]);
      from = {to.tensor, 0};
    }
    if (from.row < to.row) add_rows(piece, sender, from.tensor, from.row, to.row);
  }

  // Rows of one tensor up to `end`; -1 means all that follow.
  void add_rows(const WantedPiece& piece, std::uint32_t sender, std::int64_t tensor,
                std::int64_t begin, std::int64_t end) {
    const Box& all = demands_.boxes[piece.box];
    const std::size_t dim = row_dim(all);
    const Interval rows = all[dim];
    Box box = all;
    box[dim] = {rows.begin + begin, end < 0 ? rows.end : rows.begin + end};
    add_box(piece, sender, tensor, 1, std::move(box));
  }

  void add_box(const WantedPiece& piece, std::uint32_t sender, std::int64_t first,
               std::int64_t count, Box box) {
    sent_.push_back({sender,
                     piece.to,
                     {piece.group, static_cast<std::uint32_t>(first),
                      static_cast<std::uint32_t>(count), std::move(box)}});
  }

  const TransferProblem& problem_;
  const Demands& demands_;
  std::vector<Sent> sent_;
};

}  // namespace

std::vector<Transfer> cut_pieces(const TransferProblem& problem, const Demands& demands,
                                 const SenderChoice& choice) {
  PieceCutter cutter(problem, demands);
  for (std::size_t i = 0; i < demands.needs.size(); ++i)
    cutter.add_need(demands.needs[i], choice.shares[i]);
  return cutter.transfers();
}

}  // namespace shardwright::redistribution
