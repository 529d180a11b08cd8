// Text that cannot become markup.
#pragma once

#include <string>
#include <string_view>

#include "runtime/io/text_sink.h"

namespace shardwright {

// A sink for the JSON inside a page's script: escapes "<", which occurs in strings only, so that no
// text can end the script. Refers to `sink`.
TextSink without_markup(const TextSink& sink);

// The text with "&", "<" and ">" as entities, for the content of an element.
std::string escaped_markup(std::string_view text);

}  // namespace shardwright
