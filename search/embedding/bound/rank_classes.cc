#include "search/embedding/bound/rank_classes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardwright::embedding {
namespace {

// The load limit of a class without capacity, as a fraction of the load limit of a whole rank.
constexpr double kLeastPart = 1e-12;

// Relative increase from `most_load`, which a load may equal, to a limit, which it may not.
constexpr double kClosed = 1e-9;

std::vector<std::uint64_t> distinct(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Returns the ranks where the load of a choice on all ranks differs from the rank before, as pairs
// (-largest difference, rank), the largest difference first.
std::vector<std::pair<double, std::uint32_t>> load_changes(const ChoiceModel& model,
                                                           double least_difference) {
  std::map<std::uint32_t, double> changes;
  for (const Choice& choice : model.choices()) {
    if (choice.reach != Reach::kAllRanks) continue;
    const std::span<const ChoiceRun> runs = model.runs(choice);
    std::uint32_t rank = 0;
    for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
      rank += runs[run].count;
      const double difference = std::abs(runs[run].load - runs[run + 1].load);
      if (difference > least_difference * std::max(runs[run].load, runs[run + 1].load))
        changes[rank] = std::max(changes[rank], difference);
    }
  }
  std::vector<std::pair<double, std::uint32_t>> sorted;
  sorted.reserve(changes.size());
  for (const auto& [rank, difference] : changes)
    sorted.emplace_back(-difference, rank);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Returns true if one shard of the choice is the smallest in every resource: per class, or overall
// if the choice fills hosts. check_bound() counts all these shards as the smallest.
bool has_smallest_shards(const ChoiceModel& model, const Choice& choice,
                         const RankClasses& classes) {
  std::vector<std::vector<ChoiceRun>> runs(classes.size());
  std::size_t rank = 0;
  for (const ChoiceRun& run : model.runs(choice)) {
    ClassSet seen = 0;  // classes that have a shard of this run
    for (std::uint32_t k = 0; k < run.count; ++k, ++rank) {
      const std::uint32_t own = choice.reach == Reach::kAllRanks ? classes.class_of(rank) : 0;
      if ((seen >> own & 1) == 0) runs[own].push_back(run);
      seen |= ClassSet{1} << own;
      if (choice.reach != Reach::kAllRanks) break;
    }
  }
  return std::all_of(runs.begin(), runs.end(), [](const std::vector<ChoiceRun>& own) {
    return own.empty() || smallest_shard(own);
  });
}

}  // namespace

bool RankClasses::can_be_apart(const ChoiceModel& model, const RankClassParameters& parameters) {
  if (model.has_uneven_hosts()) return false;
  RankClasses own(model, has_separate_hosts(model, parameters));
  if (2 * own.size() > RankClassParameters::kMaxApart) return false;
  own.set_apart(own.are_on_one_host(model));
  const std::span<const Choice> choices = model.choices();
  const auto is_apart = [&](const Choice& choice) { return own.is_apart(choice); };
  if (std::all_of(choices.begin(), choices.end(), is_apart)) return false;
  return std::any_of(choices.begin(), choices.end(), is_apart) &&
         std::all_of(choices.begin(), choices.end(), [&](const Choice& choice) {
           return !is_apart(choice) || has_smallest_shards(model, choice, own);
         });
}

RankClasses RankClasses::apart(const ChoiceModel& model, const RankClassParameters& parameters) {
  RankClasses own(model, has_separate_hosts(model, parameters));
  own.set_apart(own.are_on_one_host(model));
  return own;
}

bool RankClasses::has_separate_hosts(const ChoiceModel& model,
                                     const RankClassParameters& parameters) {
  return model.num_hosts() > 1 && model.num_hosts() <= parameters.max_hosts;
}

bool RankClasses::are_on_one_host(const ChoiceModel& model) const {
  ClassSet seen = 0;
  for (std::uint32_t host = 0; host < model.num_hosts(); ++host) {
    ClassSet classes = 0;
    for (std::uint32_t k = 0; k < model.local_world_size(); ++k)
      classes |= ClassSet{1} << class_of_rank_[host * model.local_world_size() + k];
    if ((seen & classes) != 0) return false;
    seen |= classes;
  }
  return true;
}

void RankClasses::set_apart(bool with_hosts) {
  hosts_apart_ = with_hosts;
  num_apart_ = static_cast<std::uint32_t>(size());
  whole_ = classes_;
  classes_.insert(classes_.end(), whole_.begin(), whole_.end());
  for (std::uint32_t c = num_apart_; c < size(); ++c)
    single_classes_.push_back(ClassSet{1} << c);
  for (ClassSet& host : hosts_)
    host |= host << num_apart_;
}

void RankClasses::set_uniform_use(std::span<const UniformUse> use, double target) {
  for (std::uint32_t c = 0; c < num_apart_; ++c) {
    const double limit = target / whole_[c].time_scale;
    const auto set = [&](RankClass& rank_class, double load, Storage room) {
      // The load limit must be positive.
      rank_class.time_scale = target / std::max(load, limit * kLeastPart);
      rank_class.room = most_of(room, Storage());
    };
    set(classes_[c], limit - use[c].least_load, whole_[c].room - use[c].least_room());
    set(classes_[uniform_class(c)], std::min(limit, use[c].most_load * (1 + kClosed)),
        least_of(whole_[c].room, use[c].most_room()));
  }
}

bool RankClasses::can_separate_hosts(const ChoiceModel& model,
                                     const RankClassParameters& parameters) {
  return model.num_hosts() > 0 && !model.is_one_host() &&
         model.num_hosts() <= parameters.max_hosts &&
         std::any_of(model.choices().begin(), model.choices().end(), [&](const Choice& choice) {
           return choice.reach == Reach::kHost || (choice.reach == Reach::kWholeHosts &&
                                                   choice.num_shards == model.local_world_size());
         });
}

RankClasses::RankClasses(const ChoiceModel& model, bool separate_hosts) {
  Labels labels = label_kinds(model);
  if (separate_hosts) {
    // An incomplete last host counts as one more host.
    const std::uint32_t places = model.num_hosts() + (model.has_uneven_hosts() ? 1 : 0);
    for (std::size_t rank = 0; rank < labels.size(); ++rank)
      labels[rank] = labels[rank] * places + rank / model.local_world_size();
  }
  split_by_load(model, labels);
  make_classes(model, labels);
  for (std::size_t c = 0; c < classes_.size(); ++c)
    single_classes_.push_back(ClassSet{1} << c);
  hosts_.assign(separate_hosts ? model.num_hosts() : 0, 0);
  for (std::size_t rank = 0; rank < model.num_hosted_ranks() && separate_hosts; ++rank)
    hosts_[rank / model.local_world_size()] |= ClassSet{1} << class_of_rank_[rank];
}

RankClasses::Labels RankClasses::label_kinds(const ChoiceModel& model) {
  const std::span<const Storage> room = model.room();
  std::map<std::pair<Storage, double>, std::uint64_t> kinds;
  const auto kind = [&](std::size_t rank) {
    return std::pair(room[rank], model.time_scale(static_cast<Rank>(rank)));
  };
  for (std::size_t rank = 0; rank < room.size(); ++rank)
    kinds.try_emplace(kind(rank), kinds.size());
  Labels labels(room.size(), 0);
  if (kinds.size() > RankClassParameters::kMaxKinds) return labels;
  for (std::size_t rank = 0; rank < room.size(); ++rank)
    labels[rank] = kinds[kind(rank)];
  return labels;
}

// Splits kinds where loads change, at the largest change first, up to `kMaxClasses`.
void RankClasses::split_by_load(const ChoiceModel& model, Labels& labels) {
  for (const auto& [difference, rank] : load_changes(model, RankClassParameters::kLoadDifference)) {
    Labels split = labels;
    for (std::size_t r = 0; r < split.size(); ++r)
      split[r] = 2 * split[r] + (r >= rank ? 1 : 0);
    const Labels values = distinct(split);
    if (values.size() > RankClassParameters::kMaxClasses) return;
    // Keeps the labels small, so that 2 * label does not overflow; only their order matters.
    for (std::uint64_t& value : split) {
      value = static_cast<std::uint64_t>(std::lower_bound(values.begin(), values.end(), value) -
                                         values.begin());
    }
    labels = std::move(split);
  }
}

void RankClasses::make_classes(const ChoiceModel& model, const Labels& labels) {
  const std::span<const Storage> room = model.room();
  std::map<std::uint64_t, std::uint32_t> number;
  for (std::size_t rank = 0; rank < room.size(); ++rank) {
    const auto [found, added] =
        number.try_emplace(labels[rank], static_cast<std::uint32_t>(classes_.size()));
    const double scale = model.time_scale(static_cast<Rank>(rank));
    if (added) classes_.push_back({0, {}, scale});
    RankClass& rank_class = classes_[found->second];
    rank_class.time_scale = std::min(rank_class.time_scale, scale);
    ++rank_class.size;
    rank_class.room = most_of(rank_class.room, room[rank]);
    class_of_rank_.push_back(found->second);
  }
}

}  // namespace shardwright::embedding
