// The placement of a tensor: a mesh of ranks, the mesh axis that splits each dimension, and the
// axes along which ranks hold terms of a sum instead of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::program {

using Rank = std::int32_t;

using redistribution::kMaxDims;
using redistribution::kMaxMeshAxes;
using redistribution::Shape;

// For each dimension, the mesh axis that splits it, or -1.
using DimsMapping = boost::container::static_vector<std::int8_t, kMaxDims>;

enum class DataType : std::uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat64,
  kInt64,
  kInt32,
  kUInt8,
  kBool
};

// Returns the name in JSON, such as "float32".
std::string_view to_name(DataType type);
std::span<const std::string_view> data_type_names();  // indexed by DataType
std::int64_t element_bytes(DataType type);

enum class Reduction : std::uint8_t { kNone, kSum, kAvg, kMax };

// Returns "sum", "avg", "max", or "none" for kNone.
std::string_view to_name(Reduction reduction);
std::span<const std::string_view> reduction_names();

// Ranks arranged row-major in a grid.
// Invariant: the product of the extents is the number of ids; ids are distinct and not negative.
// Thread safety: a value.
class ProcessMesh {
 public:
  ProcessMesh() = default;
  // Errors: kInvalidInput with `where` = "/shape" or "/ids".
  static Result<ProcessMesh> make(std::vector<std::int64_t> shape, std::vector<Rank> ids);
  // Precondition: the invariant holds.
  static ProcessMesh make_unchecked(std::vector<std::int64_t> shape, std::vector<Rank> ids) {
    return {std::move(shape), std::move(ids)};
  }

  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::vector<Rank>& ids() const { return ids_; }
  std::size_t size() const { return ids_.size(); }
  std::size_t axes() const { return shape_.size(); }
  std::int64_t axis_size(std::size_t axis) const { return shape_[axis]; }

  // Returns the index of `rank` in ids(), or nullopt. O(size).
  std::optional<std::size_t> position_of(Rank rank) const;
  bool contains(Rank rank) const { return position_of(rank).has_value(); }
  // Returns the coordinate along `axis` of the rank at `position` in ids().
  std::int64_t coordinate(std::size_t position, std::size_t axis) const;
  // Returns the distance in ids() between neighbours along `axis`.
  std::int64_t stride(std::size_t axis) const;

  friend bool operator==(const ProcessMesh&, const ProcessMesh&) = default;

 private:
  ProcessMesh(std::vector<std::int64_t> shape, std::vector<Rank> ids)
      : shape_(std::move(shape)), ids_(std::move(ids)) {}

  std::vector<std::int64_t> shape_;
  std::vector<Rank> ids_;
};

// Returns true if `outer` contains every rank of `inner`. O(size log size).
bool is_subset(const ProcessMesh& inner, const ProcessMesh& outer);

// For each mesh axis, the reduction that is not done yet; axes beyond the end have none.
using PartialAxes = boost::container::static_vector<Reduction, kMaxMeshAxes>;

// A placement of a tensor.
// Thread safety: a value.
struct DistAttr {
  ProcessMesh mesh;
  DimsMapping dims_mapping;
  PartialAxes partial;

  Reduction due_on(std::size_t axis) const {
    return axis < partial.size() ? partial[axis] : Reduction::kNone;
  }
  bool has_partial() const;
  std::int64_t splits(std::size_t dim) const {
    const int axis = dims_mapping[dim];
    return axis < 0 ? 1 : mesh.axis_size(static_cast<std::size_t>(axis));
  }
};

// Returns the mapping with -1 in place of axes of one rank, which split nothing.
DimsMapping effective_mapping(const ProcessMesh& mesh, const DimsMapping& mapping);
// Returns `partial` without the reductions along axes of one rank; empty if none is left.
PartialAxes effective_partial(const ProcessMesh& mesh, const PartialAxes& partial);

// Missing entries of `partial` count as kNone.
bool operator==(const DistAttr& a, const DistAttr& b);

// Checks that the mesh has a rank and that the mapping has `dims` entries. Each entry must be -1,
// or an axis of the mesh that occurs once and is not partial. Maxima do not mix with sums or
// averages, because the result would depend on the order of the reductions. Errors: kInvalidInput
// with `where` = "/mesh", "/dims_mapping" or "/partial".
Status check(const DistAttr& attr, std::size_t dims);

// Checks that extents are not negative and that there are at most 2^48 elements. An extent of -1
// stands for the batch size and counts as 1. Errors: kInvalidInput without a place.
Status check_extents(const Shape& shape);

using redistribution::Interval;
using Part = redistribution::Box;

using redistribution::intersection;
using redistribution::num_elements;
using redistribution::overlap;
using redistribution::relative;
using redistribution::shape_of;
using redistribution::whole;

// Returns piece number `index` of `size` elements cut into `pieces` pieces. The first size % pieces
// pieces are longer by one element.
inline Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index) {
  return redistribution::cut(size, pieces, index, redistribution::Rounding::kBalanced);
}

// Returns the box of the rank at `position` of the mesh, in elements of the whole tensor.
Part part_at(const Shape& shape, const DistAttr& attr, std::size_t position);

// Returns true if every split dimension divides into pieces of equal size.
bool splits_evenly(const Shape& shape, const DistAttr& attr);

// Two boxes that form one: the dimension in which they touch, their order in it, and the union.
struct Join {
  std::size_t dim = 0;
  bool first_is_lower = true;
  Part joined;
};
// Returns nullopt unless the boxes differ in one dimension and touch there, or are equal and empty.
std::optional<Join> join(const Part& first, const Part& second);

// Joins `piece` with the first of `boxes` that fits, joins the result with the first remaining box
// that fits, and so on. Appends the last result to `boxes`. Calls on_join(i, join) for each join
// with boxes[i], before boxes[i] is removed. Source: Paddle's Resharder, concat of partitions.
template <class OnJoin>
void absorb(std::vector<Part>& boxes, Part piece, const OnJoin& on_join) {
  for (bool joined = true; joined;) {
    joined = false;
    for (std::size_t i = 0; i < boxes.size() && !joined; ++i) {
      const std::optional<Join> fit = join(boxes[i], piece);
      if (!fit) continue;
      on_join(i, *fit);
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(i));
      piece = fit->joined;
      joined = true;
    }
  }
  boxes.push_back(std::move(piece));
}

}  // namespace shardwright::program
