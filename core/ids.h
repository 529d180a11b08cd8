// Typed ids: the compiler rejects an id of one kind where another kind is expected.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace shardwright {

// A dense index of an object of one kind. A default-constructed id is invalid.
// Thread safety: a value.
template <class Tag>
class Id {
 public:
  using Rep = std::uint32_t;
  static constexpr Rep kInvalid = ~Rep{0};

  constexpr Id() = default;
  constexpr explicit Id(std::size_t value) : value_(static_cast<Rep>(value)) {}

  constexpr Rep value() const { return value_; }
  constexpr std::size_t index() const { return value_; }
  constexpr bool valid() const { return value_ != kInvalid; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = kInvalid;
};

}  // namespace shardwright

template <class Tag>
struct std::hash<shardwright::Id<Tag>> {
  std::size_t operator()(shardwright::Id<Tag> id) const noexcept {
    return std::hash<typename shardwright::Id<Tag>::Rep>{}(id.value());
  }
};
