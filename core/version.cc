#include "core/version.h"

#define SHARDWRIGHT_TEXT_OF(number) #number
#define SHARDWRIGHT_TEXT(number) SHARDWRIGHT_TEXT_OF(number)

namespace shardwright {

static_assert(std::string_view(SHARDWRIGHT_VERSION_STRING) ==
                  SHARDWRIGHT_TEXT(SHARDWRIGHT_VERSION_MAJOR) "." SHARDWRIGHT_TEXT(
                      SHARDWRIGHT_VERSION_MINOR) "." SHARDWRIGHT_TEXT(SHARDWRIGHT_VERSION_PATCH),
              "the version's text and its numbers differ");

std::string_view library_version() noexcept { return SHARDWRIGHT_VERSION_STRING; }

}  // namespace shardwright
