// What a lower bound sees of a model: ranks in classes, and rows of shards that need a place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// `need` shards of one choice, equal in cost, at most `most_per_rank` of them on one rank: those of
// a run anywhere; or those of a class of ranks, one on each, for a choice that is on all ranks.
struct BoundRow {
  std::uint32_t choice = 0;
  std::uint32_t run = 0;  // or the class
  bool in_class = false;  // only on ranks of class `run`
  std::uint32_t need = 0;
  std::uint32_t most_per_rank = 0;
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

// A fractional plan: how much of every choice it takes, and how many shards of every row it puts on
// every class of ranks.
struct FractionalPlan {
  std::vector<double> shares;
  std::vector<std::vector<double>> shards;
};

struct RankClass {
  std::uint32_t size = 0;
  Storage room;      // of its largest rank, not below zero
  double scale = 1;  // of time, the least of any rank
};

// Classes of ranks as bits: where a choice may be.
using Zone = std::uint32_t;

// Ranks are of one class where they have the same room and scale of time and, within what matters,
// the same load from every choice that is on all ranks; if hosts are told apart, the same host,
// too. Too many classes are merged: a class is as large as its largest rank and its shards as small
// as their smallest, which weakens a bound and never falsifies it. Thread safety: immutable; const
// members may be called from any thread.
class BoundRows {
 public:
  // Precondition: can_part_hosts(model) where hosts are told apart.
  BoundRows(const ChoiceModel& model, bool part_hosts);

  // Whether some choice is bound to one host, and hosts are few enough to tell them apart.
  static bool can_part_hosts(const ChoiceModel& model);

  const ChoiceModel& model() const { return *model_; }
  std::span<const RankClass> classes() const { return classes_; }
  const std::vector<std::uint32_t>& class_of_rank() const { return class_of_rank_; }
  std::span<const BoundRow> rows() const { return rows_; }
  std::uint32_t first_row(std::uint32_t choice) const { return first_row_[choice]; }
  std::span<const BoundRow> rows_of(std::uint32_t choice) const {
    return std::span(rows_).subspan(first_row_[choice],
                                    first_row_[choice + 1] - first_row_[choice]);
  }
  // The load of a rank that rates `target`.
  double limit(std::uint32_t rank_class, double target) const {
    return target / classes_[rank_class].scale;
  }
  bool fits(const BoundRow& row, std::uint32_t rank_class) const {
    const Storage& room = classes_[rank_class].room;
    return (!row.in_class || row.run == rank_class) && row.hbm_bytes <= room.hbm.value() &&
           row.ddr_bytes <= room.ddr.value();
  }
  // Whether the choice can be part of a plan that rates below `target`.
  bool is_possible(std::uint32_t choice, double target) const;

  Zone everywhere() const { return (Zone{1} << classes_.size()) - 1; }
  // The places that a choice must choose one of, if it is in one place: the host of its shards, or
  // the class of the rank of its only shard. Empty where it is not.
  std::span<const Zone> places(std::uint32_t choice) const;

 private:
  static constexpr std::size_t kMostClasses = 8;
  static constexpr std::uint32_t kMostHosts = 4;

  void make_classes(bool part_hosts);
  void split_by_load(std::vector<std::uint64_t>& signature) const;
  void add_rows(std::uint32_t choice);

  const ChoiceModel* model_;
  std::vector<RankClass> classes_;
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<BoundRow> rows_;
  std::vector<std::uint32_t> first_row_;
  std::vector<Zone> class_places_;
  std::vector<Zone> host_places_;  // empty unless hosts are told apart
};

}  // namespace shardwright::embedding
