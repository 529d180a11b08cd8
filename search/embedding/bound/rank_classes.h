// Classes of ranks that the relaxation treats as equal.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

struct RankClass {
  std::uint32_t size = 0;
  Storage room;           // memory of its largest rank, never negative
  double time_scale = 1;  // of its fastest rank, the smallest of all
};

// Rank classes as bits: bit c stands for class c.
using ClassSet = std::uint32_t;

// The domain of a branch-and-bound node: for every choice of the model, the classes where its
// shards may be. A choice with an empty set is excluded.
using Domain = std::vector<ClassSet>;

// Returns true if the choice has a shard on every rank, or on every rank of some hosts.
inline bool is_uniform(const Choice& choice) {
  return choice.reach == Reach::kAllRanks || choice.reach == Reach::kWholeHosts;
}

// Ranks of a class have the same memory, the same time scale, and about the same load from every
// choice with a shard on every rank. If hosts are separate, ranks of a class are on the same host.
// If there are more kinds of ranks than the parameters allow, all kinds are merged. A class counts
// as large as its largest and as fast as its fastest rank; bounds stay valid but may be weaker.
// Thread safety: immutable; const members may be called from any thread.
class RankClasses {
 public:
  // Precondition: can_separate_hosts() if `separate_hosts`.
  RankClasses(const ChoiceModel& model, bool separate_hosts);

  // Makes classes in which uniform choices are "apart", that is, in classes of their own (see
  // BoundCertificate::uniform_apart). There are 2n classes. Classes c and c + n stand for the same
  // ranks: class c has their capacity for other choices, class c + n for uniform choices. Hosts are
  // separate if there are few. If a class covers several hosts, only choices on all ranks are
  // apart. Precondition: can_be_apart().
  static RankClasses apart(const ChoiceModel& model, const RankClassParameters& parameters);
  static bool can_be_apart(const ChoiceModel& model, const RankClassParameters& parameters);

  // Returns true if some choice lies within one host and the hosts are few enough.
  static bool can_separate_hosts(const ChoiceModel& model, const RankClassParameters& parameters);

  std::size_t size() const { return classes_.size(); }
  const RankClass& operator[](std::size_t rank_class) const { return classes_[rank_class]; }
  std::span<const RankClass> all() const { return classes_; }
  std::uint32_t class_of(std::size_t rank) const { return class_of_rank_[rank]; }
  const std::vector<std::uint32_t>& class_of_rank() const { return class_of_rank_; }
  // The load at which the rating of a rank of the class is `target`.
  double load_limit(std::size_t rank_class, double target) const {
    return target / classes_[rank_class].time_scale;
  }

  bool uniform_apart() const { return num_apart_ > 0; }
  bool is_apart(const Choice& choice) const {
    return uniform_apart() &&
           (hosts_apart_ ? is_uniform(choice) : choice.reach == Reach::kAllRanks);
  }
  // The number of classes for other choices; 0 if uniform choices are not apart.
  std::size_t num_apart() const { return num_apart_; }
  // whole_class(): the class that has the same ranks and is for other choices. whole(): the full
  // capacity of the ranks of a class for other choices. Precondition: uniform_apart().
  std::uint32_t whole_class(std::uint32_t rank_class) const { return rank_class % num_apart_; }
  const RankClass& whole(std::uint32_t rank_class) const { return whole_[rank_class]; }
  // The class of the same ranks for uniform choices; `rank_class` if uniform choices are not apart.
  std::uint32_t uniform_class(std::uint32_t rank_class) const { return rank_class + num_apart_; }
  // Returns true for a class for uniform choices.
  bool is_for_uniform(std::uint32_t rank_class) const {
    return uniform_apart() && rank_class >= num_apart_;
  }
  // Sets the interval of what uniform choices use of a rank in plans below the target. `use` has an
  // entry per class for other choices. Precondition: uniform_apart().
  void set_uniform_use(std::span<const UniformUse> use, double target);
  // The classes where shards of a choice may be.
  ClassSet everywhere(const Choice& choice) const {
    const ClassSet others = (ClassSet{1} << num_apart_) - 1;
    return !uniform_apart() ? everywhere() : is_apart(choice) ? everywhere() & ~others : others;
  }

  ClassSet everywhere() const { return (ClassSet{1} << classes_.size()) - 1; }
  // One set per class, which contains only this class.
  std::span<const ClassSet> single_classes() const { return single_classes_; }
  // One set per host, with its classes. Empty if hosts are not separate.
  std::span<const ClassSet> hosts() const { return hosts_; }

 private:
  // A number per rank, equal for ranks of one class.
  using Labels = std::vector<std::uint64_t>;

  static bool has_separate_hosts(const ChoiceModel& model, const RankClassParameters& parameters);
  static Labels label_kinds(const ChoiceModel& model);
  static void split_by_load(const ChoiceModel& model, Labels& labels);
  void make_classes(const ChoiceModel& model, const Labels& labels);
  // Returns true if every class is on one host.
  bool are_on_one_host(const ChoiceModel& model) const;
  void set_apart(bool with_hosts);

  std::vector<RankClass> classes_;
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<ClassSet> single_classes_;
  std::vector<ClassSet> hosts_;
  std::uint32_t num_apart_ = 0;
  bool hosts_apart_ = false;      // choices that fill hosts are apart, too
  std::vector<RankClass> whole_;  // see whole(); empty if nothing is apart
};

}  // namespace shardwright::embedding
