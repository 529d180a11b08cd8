#include "search/redistribution/transfer/piece_cutter.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace shardwright::redistribution {
namespace {

// A position in the tensors of a group: before row `row` of the piece's box in tensor `tensor`.
struct CutPlace {
  std::int64_t tensor = 0;
  std::int64_t row = 0;
};

// The part of a piece between two positions.
struct Stretch {
  const WantedPiece* piece;
  CutPlace from;
  CutPlace to;
};

struct Sent {
  std::uint32_t from;
  std::uint32_t to;
  TransferPiece piece;
  // Index in PieceCutter::sent_ of the first copy of a piece that is passed on; otherwise kOwn.
  std::size_t first_copy;
};
constexpr std::size_t kOwn = ~std::size_t{0};

// The transfer that contains a piece, and the range of the piece's bytes in it.
struct StreamPlace {
  std::size_t transfer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class PieceCutter {
 public:
  PieceCutter(const TransferProblem& problem, const Demands& demands, std::int64_t passed_bytes)
      : problem_(problem), demands_(demands), passed_bytes_(passed_bytes) {}

  // Adds the pieces of a need. Holders send, in stretches, the bytes that receivers do not pass on.
  void add_need(const Need& need, const SenderChoice& choice,
                const std::vector<SenderShare>& shares) {
    Senders senders{shares, 0, shares.empty() ? 0 : shares[0].bytes, 0};
    for (std::size_t s = need.first; s < need.last; ++s) {
      const SharedNeed& shared = demands_.shared[s];
      std::vector<Stretch> rest = all_of(shared);
      for (const SenderShare& passed :
           choice.passed.empty() ? std::vector<SenderShare>() : choice.passed[s]) {
        for (const Stretch& stretch : take(passed.bytes, rest))
          send(stretch, passed.from, &demands_.sets[shared.receivers], senders);
      }
      for (const std::uint32_t to : demands_.sets[shared.receivers]) {
        for (const Stretch& stretch : rest)
          send(stretch, to, nullptr, senders);
      }
    }
  }

  CutTransfers transfers() {
    for (const KeptPiece& kept : demands_.kept) {
      sent_.push_back({kept.rank,
                       kept.rank,
                       {kept.group, 0, static_cast<std::uint32_t>(num_tensors(kept.group)),
                        demands_.boxes[kept.box]},
                       kOwn});
    }
    const auto key = [&](std::size_t i) {
      const Sent& sent = sent_[i];
      return std::make_tuple(sent.from, sent.to, sent.first_copy != kOwn, sent.piece.group,
                             sent.piece.first);
    };
    std::vector<std::size_t> order(sent_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    CutTransfers cut;
    std::vector<StreamPlace> places(sent_.size());
    for (const std::size_t i : order)
      places[i] = append(sent_[i], cut.transfers);
    cut.waits.resize(cut.transfers.size());
    for (const std::size_t i : order) {
      if (sent_[i].first_copy == kOwn) continue;
      const StreamPlace& first = places[sent_[i].first_copy];
      cut.waits[places[i].transfer].push_back({places[i].begin, first.transfer, first.end});
      cut.transfers[places[i].transfer].passed_on += places[i].end - places[i].begin;
    }
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      std::vector<TransferPiece>& pieces = cut.transfers[places[order[i]].transfer].pieces;
      pieces.push_back(std::move(sent_[order[i]].piece));
    }
    return cut;
  }

 private:
  // The holders that send a need, and the progress through their shares.
  struct Senders {
    const std::vector<SenderShare>& shares;
    std::size_t at;      // the current share
    std::int64_t end;    // end of the current share, in bytes
    std::int64_t begin;  // bytes sent so far
  };

  StreamPlace append(const Sent& sent, std::vector<Transfer>& transfers) const {
    const Rank from = problem_.ranks()[sent.from];
    const Rank to = problem_.ranks()[sent.to];
    if (transfers.empty() || transfers.back().from != from || transfers.back().to != to)
      transfers.push_back({from, to, 0, {}, {}});
    const std::int64_t begin = transfers.back().bytes;
    transfers.back().bytes += num_elements(sent.piece.box) * sent.piece.count *
                              problem_.groups()[sent.piece.group].item_bytes;
    return {transfers.size() - 1, begin, transfers.back().bytes};
  }

  std::vector<Stretch> all_of(const SharedNeed& shared) const {
    std::vector<Stretch> all;
    for (std::size_t i = shared.first; i < shared.last; ++i) {
      const WantedPiece& piece = demands_.wanted[i];
      all.push_back({&piece, {}, {num_tensors(piece.group), 0}});
    }
    return all;
  }

  // Takes about `bytes` from the front of the stretches, in parts of about `passed_bytes_`. A part
  // is passed on only when all of it has arrived.
  std::vector<Stretch> take(std::int64_t bytes, std::vector<Stretch>& rest) const {
    std::vector<Stretch> taken;
    std::size_t used = 0;
    for (; used < rest.size() && bytes > 0; ++used) {
      Stretch& front = rest[used];
      while (bytes > 0 && bytes_of(front) > 0) {
        Stretch part = front;
        const std::int64_t row = rows_of(*front.piece).second;
        part.to = place_after(front, std::min(bytes, std::max(passed_bytes_, row)));
        if (bytes_of(part) == 0) break;  // less than half a row is left
        bytes -= bytes_of(part);
        front.from = part.to;
        taken.push_back(part);
      }
      if (bytes_of(front) > 0) break;
    }
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(used));
    return taken;
  }

  // Sends a stretch to a rank, which passes it on to the other `receivers` unless these are null.
  void send(Stretch stretch, std::uint32_t to, const std::vector<std::uint32_t>* receivers,
            Senders& senders) {
    while (bytes_of(stretch) > 0) {
      const bool is_last = senders.at + 1 == senders.shares.size();
      if (!is_last && senders.begin >= senders.end) {
        senders.end += senders.shares[++senders.at].bytes;
        continue;
      }
      Stretch part = stretch;
      if (!is_last) part.to = place_after(stretch, senders.end - senders.begin);
      if (bytes_of(part) == 0) {
        senders.end += senders.shares[++senders.at].bytes;
        continue;
      }
      senders.begin += bytes_of(part);
      stretch.from = part.to;
      const std::size_t first = sent_.size();
      add(part, senders.shares[senders.at].from, to);
      const std::size_t last = sent_.size();
      for (std::size_t i = first; receivers != nullptr && i < last; ++i) {
        for (const std::uint32_t other : *receivers) {
          if (other != to) sent_.push_back({to, other, sent_[i].piece, i});
        }
      }
    }
  }

  std::int64_t num_tensors(std::uint32_t group) const {
    return static_cast<std::int64_t>(problem_.groups()[group].tensors.size());
  }

  // Returns the longest dimension; of several, the first. Precondition: the box has dimensions.
  static std::size_t row_dim(const Box& box) {
    const auto longest =
        std::max_element(box.begin(), box.end(),
                         [](const Interval& a, const Interval& b) { return a.size() < b.size(); });
    return static_cast<std::size_t>(longest - box.begin());
  }

  // Returns the number of rows of a piece's box, and the bytes of one row.
  std::pair<std::int64_t, std::int64_t> rows_of(const WantedPiece& piece) const {
    const Box& box = demands_.boxes[piece.box];
    const std::int64_t rows = box.empty() ? 1 : box[row_dim(box)].size();
    return {rows, piece.bytes / num_tensors(piece.group) / rows};
  }

  std::int64_t bytes_of(const Stretch& stretch) const {
    const auto [rows, of_row] = rows_of(*stretch.piece);
    return ((stretch.to.tensor - stretch.from.tensor) * rows + stretch.to.row - stretch.from.row) *
           of_row;
  }

  // Returns the position closest to `bytes` after the start of the stretch, but not beyond its end.
  CutPlace place_after(const Stretch& stretch, std::int64_t bytes) const {
    if (bytes >= bytes_of(stretch)) return stretch.to;
    const auto [rows, of_row] = rows_of(*stretch.piece);
    const std::int64_t row =
        stretch.from.tensor * rows + stretch.from.row + (bytes + of_row / 2) / of_row;
    return {row / rows, row % rows};
  }

  // Adds the pieces of a stretch: rows of the first tensor, whole tensors, rows of the last tensor.
  void add(const Stretch& stretch, std::uint32_t sender, std::uint32_t to) {
    const WantedPiece& piece = *stretch.piece;
    CutPlace from = stretch.from;
    const CutPlace end = stretch.to;
    if (from.tensor < end.tensor && from.row > 0) {
      add_rows(piece, sender, to, from.tensor, from.row, -1);
      from = {from.tensor + 1, 0};
    }
    if (from.tensor < end.tensor) {
      add_box(piece, sender, to, from.tensor, end.tensor - from.tensor, demands_.boxes[piece.box]);
      from = {end.tensor, 0};
    }
    if (from.row < end.row) add_rows(piece, sender, to, from.tensor, from.row, end.row);
  }

  // Adds a box that `sender` sends to `to`: the rows [`begin`, `end`) of the wanted box of
  // `tensor`, counted from the first row of that box. `end` = -1: to the last row.
  void add_rows(const WantedPiece& piece, std::uint32_t sender, std::uint32_t to,
                std::int64_t tensor, std::int64_t begin, std::int64_t end) {
    const Box& all = demands_.boxes[piece.box];
    const std::size_t dim = row_dim(all);
    const Interval rows = all[dim];
    Box box = all;
    box[dim] = {rows.begin + begin, end < 0 ? rows.end : rows.begin + end};
    add_box(piece, sender, to, tensor, 1, std::move(box));
  }

  void add_box(const WantedPiece& piece, std::uint32_t sender, std::uint32_t to, std::int64_t first,
               std::int64_t count, Box box) {
    sent_.push_back({sender,
                     to,
                     {piece.group, static_cast<std::uint32_t>(first),
                      static_cast<std::uint32_t>(count), std::move(box)},
                     kOwn});
  }

  const TransferProblem& problem_;
  const Demands& demands_;
  std::int64_t passed_bytes_;
  std::vector<Sent> sent_;
};

}  // namespace

CutTransfers cut_pieces(const TransferProblem& problem, const Demands& demands,
                        const SenderChoice& choice, std::int64_t passed_bytes) {
  PieceCutter cutter(problem, demands, passed_bytes);
  for (std::size_t i = 0; i < demands.needs.size(); ++i)
    cutter.add_need(demands.needs[i], choice, choice.shares[i]);
  return cutter.transfers();
}

}  // namespace shardwright::redistribution
