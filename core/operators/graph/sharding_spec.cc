#include "core/operators/graph/sharding_spec.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/check.h"

namespace shardwright::operators {
namespace {

Error no_spec(std::string_view text, const std::string& reason) {
  return invalid_input("",
                       "\"" + std::string(text) + "\" is no sharding of a dimension: " + reason);
}

Result<DimSpec> parse_dim(std::string_view text) {
  if (text == "R") return DimSpec{};
  if (text.size() < 2 || text[0] != 'S')
    return no_spec(text, "expected R, or S with mesh axes such as S0 or S01");
  DimSpec spec;
  for (const char digit : text.substr(1)) {
    if (digit < '0' || digit > '7') return no_spec(text, "mesh axes are digits from 0 to 7");
    const int axis = digit - '0';
    if (axis <= spec.last_axis()) return no_spec(text, "its mesh axes do not ascend");
    spec = spec.with(axis);
  }
  return spec;
}

constexpr std::uint64_t kMaxDevices = std::uint64_t{1} << 31;
// Below this rate, the cost of any path over a tensor of 2^48 elements is finite.
constexpr double kMaxRate = 1e200;

std::string element(const char* list, std::size_t i) {
  return "/" + std::string(list) + "/" + std::to_string(i);
}

Status check_shape(const std::vector<std::uint32_t>& shape) {
  if (shape.empty()) return invalid_input("/shape", "a mesh has at least one axis");
  if (shape.size() > DeviceMesh::kMaxAxes) {
    return invalid_input("/shape", "a mesh has at most " + std::to_string(DeviceMesh::kMaxAxes) +
                                       " axes, this one has " + std::to_string(shape.size()));
  }
  std::uint64_t devices = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return invalid_input(element("shape", axis), "the axis has no device");
    devices *= shape[axis];
    if (devices > kMaxDevices) return invalid_input("/shape", "more than 2^31 devices");
  }
  return {};
}

Status check_rates(const char* name, const std::vector<double>& rates, std::size_t num_axes) {
  if (rates.size() != num_axes) {
    return invalid_input("/" + std::string(name), std::to_string(rates.size()) +
                                                      " entries for a mesh of " +
                                                      std::to_string(num_axes) + " axes");
  }
  for (std::size_t axis = 0; axis < rates.size(); ++axis) {
    if (!std::isfinite(rates[axis]) || rates[axis] < 0) {
      return invalid_input(element(name, axis), "must be a finite number that is not negative");
    }
    if (rates[axis] > kMaxRate) return invalid_input(element(name, axis), "must be at most 1e200");
  }
  return {};
}

Status check_device_ids(const std::vector<std::uint32_t>& ids, std::uint64_t num_devices) {
  if (ids.empty()) return {};
  if (ids.size() != num_devices) {
    return invalid_input("/device_ids", std::to_string(ids.size()) + " ids for " +
                                            std::to_string(num_devices) + " devices");
  }
  std::vector<std::uint32_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return invalid_input("/device_ids", "device " + std::to_string(*twice) + " occurs twice");
  }
  return {};
}

}  // namespace

std::string DimSpec::to_string() const {
  if (replicated()) return "R";
  std::string text = "S";
  for (int axis = 0; axis <= last_axis(); ++axis) {
    if (has(axis)) text += static_cast<char>('0' + axis);
  }
  return text;
}

std::string DimSpecs::to_string() const {
  std::string text;
  for (std::size_t dim = 0; dim < rank_; ++dim) {
    if (dim > 0) text += ',';
    text += (*this)[dim].to_string();
  }
  return text;
}

Result<DimSpecs> DimSpecs::parse(std::string_view text) {
  std::string bare;
  std::copy_if(text.begin(), text.end(), std::back_inserter(bare),
               [](char c) { return c != '[' && c != ']' && c != ' '; });
  if (bare.empty()) return DimSpecs();
  const auto commas = static_cast<std::size_t>(std::count(bare.begin(), bare.end(), ','));
  if (commas >= kMaxRank)
    return invalid_input("", "a sharding spec has at most " + std::to_string(kMaxRank) +
                                 " dimensions, this one has " + std::to_string(commas + 1));
  DimSpecs specs(commas + 1);
  std::string_view rest = bare;
  for (std::size_t dim = 0; dim <= commas; ++dim) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    SHARDWRIGHT_ASSIGN_OR_RETURN(const DimSpec spec, parse_dim(rest.substr(0, end)));
    specs = specs.with(dim, spec);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return specs;
}

Result<std::shared_ptr<const DeviceMesh>> DeviceMesh::make(DeviceMeshSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_shape(spec.shape));
  const std::size_t num_axes = spec.shape.size();
  if (spec.alpha.empty()) spec.alpha.assign(num_axes, 1.0);
  if (spec.beta.empty()) spec.beta.assign(num_axes, 1.0);
  SHARDWRIGHT_RETURN_IF_ERROR(check_rates("alpha", spec.alpha, num_axes));
  SHARDWRIGHT_RETURN_IF_ERROR(check_rates("beta", spec.beta, num_axes));
  std::uint64_t num_devices = 1;
  for (const std::uint32_t size : spec.shape)
    num_devices *= size;
  SHARDWRIGHT_RETURN_IF_ERROR(check_device_ids(spec.device_ids, num_devices));
  return std::shared_ptr<const DeviceMesh>(new DeviceMesh(std::move(spec)));
}

DeviceMesh::DeviceMesh(DeviceMeshSpec spec)
    : spec_(std::move(spec)), devices_along_(std::size_t{1} << spec_.shape.size(), 1) {
  for (std::size_t axis = 0; axis < num_axes(); ++axis) {
    flat_alpha_ = std::max(flat_alpha_, spec_.alpha[axis]);
    flat_beta_ = std::max(flat_beta_, spec_.beta[axis]);
    const std::size_t bit = std::size_t{1} << axis;
    for (std::size_t axes = bit; axes < 2 * bit; ++axes)
      devices_along_[axes] = devices_along_[axes - bit] * spec_.shape[axis];
  }
  num_devices_ = devices_along_.back();
}

const TensorShape* SpecTable::shape(std::span<const std::int64_t> dims) {
  SHARDWRIGHT_CHECK(dims.size() <= DimSpecs::kMaxRank);
  return shapes_.intern(TensorShape{{dims.begin(), dims.end()}});
}

bool SpecTable::valid(const TensorShape& shape, const DimSpecs& dims) const {
  if (dims.rank() != shape.rank() || !dims.disjoint()) return false;
  if ((dims.used_axes() >> mesh_->num_axes()) != 0) return false;
  for (std::size_t dim = 0; dim < dims.rank(); ++dim) {
    if (shape.dims[dim] % mesh_->devices_along(dims[dim].axes) != 0) return false;
  }
  return true;
}

const ShardingSpec* SpecTable::find_or_add(const TensorShape* shape, const DimSpecs& dims) {
  return valid(*shape, dims) ? intern(shape, dims) : nullptr;
}

const ShardingSpec* SpecTable::intern(const TensorShape* shape, const DimSpecs& dims) {
  return specs_.intern(ShardingSpec{shape, dims, local_elements(*shape, dims)});
}

std::int64_t SpecTable::local_elements(const TensorShape& shape, const DimSpecs& dims) const {
  SHARDWRIGHT_DCHECK(valid(shape, dims));
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < dims.rank(); ++dim)
    elements *= shape.dims[dim] / mesh_->devices_along(dims[dim].axes);
  return elements;
}

std::uint64_t SpecTable::ShapeTraits::hash(const TensorShape& shape) {
  std::uint64_t hash = shape.rank();
  for (const std::int64_t extent : shape.dims)
    hash = hash_mix(hash, static_cast<std::uint64_t>(extent));
  return hash;
}

std::uint64_t SpecTable::SpecTraits::hash(const ShardingSpec& spec) {
  return hash_mix(reinterpret_cast<std::uintptr_t>(spec.shape), spec.dims.bits());
}

redistribution::Placement to_placement(const DimSpecs& specs) {
  redistribution::Placement placement;
  for (std::size_t dim = 0; dim < specs.rank(); ++dim) {
    for (int axis = 0; axis <= specs[dim].last_axis(); ++axis) {
      if (specs[dim].has(axis))
        placement = placement.with_shard(static_cast<std::size_t>(axis), dim);
    }
  }
  return placement;
}

DimSpecs to_dim_specs(const redistribution::Placement& placement, std::size_t rank) {
  DimSpecs specs(rank);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    DimSpec spec;
    for (const std::uint8_t axis : placement.axes_of(dim))
      spec = spec.with(axis);
    specs = specs.with(dim, spec);
  }
  return specs;
}

redistribution::MeshShape mesh_shape_of(const DeviceMesh& mesh) {
  return {mesh.spec().shape.begin(), mesh.spec().shape.end()};
}

}  // namespace shardwright::operators
