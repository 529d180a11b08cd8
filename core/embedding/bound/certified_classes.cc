#include "core/embedding/bound/certified_classes.h"

#include <algorithm>

#include "core/embedding/bound/bound_options.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// The largest number of classes for which all() does not overflow.
constexpr std::uint32_t kMaxClasses = 31;

// The rating multiplies the load of a rank by its time scale, except in the storage model.
double load_limit_of(const ProblemSpec& spec, std::size_t rank, double target) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  if (scale.empty() || spec.perf_model == PerfModel::kStorage) return target;
  return step_up(target / scale[rank]);
}

}  // namespace

std::optional<CertifiedClasses> CertifiedClasses::make(const ProblemSpec& spec,
                                                       const Topology& available,
                                                       const BoundCertificate& certificate,
                                                       double target) {
  const std::vector<std::uint32_t>& class_of_rank = certificate.class_of_rank;
  if (class_of_rank.size() != available.world_size() || class_of_rank.empty()) return std::nullopt;
  const std::uint32_t last = *std::max_element(class_of_rank.begin(), class_of_rank.end());
  if (last >= class_of_rank.size() || last >= kMaxClasses) return std::nullopt;
  CertifiedClasses classes;
  classes.perf_model_ = spec.perf_model;
  classes.class_of_rank_ = class_of_rank;
  classes.num_ranks_.assign(last + 1, 0);
  classes.room_.assign(last + 1, Storage());
  classes.load_limit_.assign(last + 1, 0);
  classes.classes_of_host_.assign(available.num_hosts(), 0);
  for (std::size_t rank = 0; rank < class_of_rank.size(); ++rank) {
    const Storage& room = available.storage()[rank];
    const std::uint32_t c = class_of_rank[rank];
    ++classes.num_ranks_[c];
    classes.room_[c] = most_of(classes.room_[c], room);
    classes.load_limit_[c] = std::max(classes.load_limit_[c], load_limit_of(spec, rank, target));
    if (rank < available.num_hosted_ranks())
      classes.classes_of_host_[rank / available.local_world_size()] |= std::uint32_t{1} << c;
  }
  classes.equal_until_.assign(class_of_rank.size(),
                              static_cast<std::uint32_t>(class_of_rank.size()));
  for (std::size_t rank = class_of_rank.size() - 1; rank > 0; --rank) {
    const bool is_equal = class_of_rank[rank - 1] == class_of_rank[rank];
    classes.equal_until_[rank - 1] =
        is_equal ? classes.equal_until_[rank] : static_cast<std::uint32_t>(rank);
  }
  if (std::find(classes.num_ranks_.begin(), classes.num_ranks_.end(), 0) !=
      classes.num_ranks_.end())
    return std::nullopt;
  if (certificate.uniform_apart && available.has_uneven_hosts()) return std::nullopt;
  if (certificate.uniform_apart && !classes.set_apart()) return std::nullopt;
  return classes;
}

// Returns false if there would be too many classes.
bool CertifiedClasses::set_apart() {
  const std::size_t num_classes = size();
  if (2 * num_classes >= kMaxClasses) return false;
  std::uint32_t seen = 0;
  for (std::uint32_t& host : classes_of_host_) {
    are_on_one_host_ &= (seen & host) == 0;
    seen |= host;
    host |= host << num_classes;
  }
  const auto twice = [](auto& list) {
    const auto once = list;
    list.insert(list.end(), once.begin(), once.end());
  };
  twice(num_ranks_);
  twice(room_);
  twice(load_limit_);
  whole_room_ = room_;
  whole_limit_ = load_limit_;
  uniform_use_.assign(num_classes, {});
  return true;
}

std::uint32_t CertifiedClasses::of_others() const {
  return uniform_apart() ? (std::uint32_t{1} << uniform_use_.size()) - 1 : all();
}

std::uint32_t CertifiedClasses::of_uniform() const {
  return uniform_apart() ? all() & ~of_others() : all();
}

std::uint32_t CertifiedClasses::uniform_class(std::uint32_t rank_class) const {
  return rank_class + static_cast<std::uint32_t>(uniform_use_.size());
}

void CertifiedClasses::set_uniform_use(const std::vector<UniformUse>& use) {
  uniform_use_ = use;
  const std::size_t num_classes = use.size();
  for (std::size_t c = 0; c < num_classes; ++c) {
    // A load must stay below its limit, but a use of exactly `most_load` is allowed.
    load_limit_[c] = add_up(whole_limit_[c], -use[c].least_load);
    load_limit_[c + num_classes] = std::min(whole_limit_[c], step_up(use[c].most_load));
    room_[c] = whole_room_[c] - use[c].least_room();
    room_[c + num_classes] = least_of(whole_room_[c], use[c].most_room());
  }
}

bool CertifiedClasses::fits(const ShardCost& cost, std::size_t rank_class) const {
  return fits(use_of(cost, perf_model_), rank_class);
}

}  // namespace shardwright::embedding
