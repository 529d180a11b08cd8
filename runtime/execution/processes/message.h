// Encodes numbers and texts as bytes, for processes of one program on machines of one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardwright {

// Thread safety: one thread at a time.
class MessageWriter {
 public:
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) void put(Number number) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + sizeof number);
    std::memcpy(bytes_.data() + end, &number, sizeof number);
  }
  template <class Number>
  void put_all(std::span<const Number> numbers) {
    put(static_cast<std::uint32_t>(numbers.size()));
    for (const Number number : numbers)
      put(number);
  }
  template <class Number>
  void put_all(const std::vector<Number>& numbers) {
    put_all(std::span<const Number>(numbers));
  }
  // Writes the number of values, then calls put_one(value) for each.
  template <class Values, class Put>
  void put_each(const Values& values, const Put& put_one) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values)
      put_one(value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  void put_flag(bool flag) { put(static_cast<std::uint8_t>(flag)); }
  template <class Number>
  void put_if(const std::optional<Number>& number) {
    put_flag(number.has_value());
    if (number) put(*number);
  }
  // Returns the bytes. Nothing must be written afterwards.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a MessageWriter wrote. Reads past the end return zeros and make good() false. Keeps a
// reference to the bytes.
// Thread safety: one thread at a time.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) Number get() {
    Number number{};
    good_ &= rest_.size() >= sizeof number;
    if (!good_) return number;
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  template <class Number>
  std::vector<Number> get_all() {
    const auto count = get<std::uint32_t>();
    std::vector<Number> numbers;
    good_ &= rest_.size() / sizeof(Number) >= count;
    if (!good_) return numbers;
    numbers.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i)
      numbers.push_back(get<Number>());
    return numbers;
  }
  // Reads what put_each() wrote; get_one() returns the next value.
  template <class Value, class Get>
  std::vector<Value> get_each(const Get& get_one) {
    std::vector<Value> values;
    for (auto left = get<std::uint32_t>(); left > 0 && good_; --left)
      values.push_back(get_one());
    return values;
  }
  std::string get_text() {
    const auto size = get<std::uint32_t>();
    good_ &= rest_.size() >= size;
    if (!good_) return {};
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool get_flag() { return get<std::uint8_t>() != 0; }
  template <class Number>
  std::optional<Number> get_if() {
    return get_flag() ? std::optional(get<Number>()) : std::nullopt;
  }
  // Returns true if nothing was read past the end.
  bool good() const { return good_; }
  // Returns true if everything was read and nothing past the end.
  bool is_complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace shardwright
