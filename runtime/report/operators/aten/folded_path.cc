#include "runtime/report/operators/aten/folded_path.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace shardwright {

FoldedPath fold_path(std::string_view path) {
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    FoldedPath folded;
    const auto [next, error] =
        std::from_chars(path.data() + begin, path.data() + end, folded.number);
    if (error == std::errc{} && next == path.data() + end && begin > 0) {
      folded.has_number = true;
      folded.before = path.substr(0, begin);
      folded.after = path.substr(end);
      return folded;
    }
    begin = end + 1;
  }
  return {std::string(path), "", false, 0};
}

}  // namespace shardwright
