// shardwright init
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/commands/files/file_kinds.h"
#include "runtime/commands/files/files_commands.h"

namespace shardwright::commands {

Result<Answer> answer(const InitRequest& request, const Watch&) {
  std::vector<std::string_view> names;
  for (const FileKind& kind : file_kinds()) {
    if (kind.sample.empty()) continue;
    names.push_back(kind.name);
    if (kind.name != request.kind) continue;
    Answer answer;
    answer.write_json = [text = kind.sample](const TextSink& sink) { sink(text); };
    answer.text = [text = kind.sample](const TextForm&) { return std::string(text); };
    answer.summary = "a commented " + std::string(kind.name) + " file; change it to yours";
    return answer;
  }
  return invalid_input("kind", "no file of the kind \"" + request.kind + "\" can be begun with" +
                                   suggestion(request.kind, names));
}

}  // namespace shardwright::commands
