// shardwright program redistribute
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/pages.h"
#include "runtime/commands/program/program_commands.h"
#include "runtime/io/program/redistribution/redistribution_json.h"
#include "runtime/report/program/redistribution_text.h"

namespace shardwright::commands {
namespace {

using Paths = std::vector<PlannedRedistribution>;

Result<Paths> find_paths(const RedistributionCase& request, const RedistributionOptions& options,
                         bool front) {
  if (front) return plan_redistribution_front(request, options);
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlannedRedistribution cheapest,
                               plan_redistribution(request, options));
  return Paths{std::move(cheapest)};
}

}  // namespace

Result<Answer> answer(const RedistributeRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.redistribution.read(watch.read));
  Result<RedistributionDocument> read = read_redistribution(text);
  if (!read.ok()) return request.redistribution.locate(read.error());
  const auto document = std::make_shared<const RedistributionDocument>(std::move(read).value());
  RedistributionOptions options = document->options;
  options.stop = watch.begin();
  Result<Paths> found = find_paths(document->request, options, request.front);
  if (!found.ok()) {
    Error error = found.error();
    if (error.where.starts_with("/links")) error.where.insert(0, "/costs");  // as in the file
    return request.redistribution.locate(std::move(error));
  }
  const auto paths = std::make_shared<const Paths>(std::move(found).value());
  Answer answer;
  answer.write_json = [document, paths, front = request.front](const TextSink& sink) {
    front ? write_redistribution_front(*document, *paths, sink)
          : write_redistribution(*document, paths->front(), sink);
  };
  answer.text = [document, paths, front = request.front](const TextForm& form) {
    return front
               ? redistribution_front_text(document->request, document->options, *paths, form.width)
               : redistribution_text(document->request, document->options, paths->front(),
                                     form.width);
  };
  answer.write_page =
      page_of({document, &document->request}, {document, &document->options}, paths);
  return answer;
}

}  // namespace shardwright::commands
