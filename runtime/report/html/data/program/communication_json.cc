#include "runtime/report/html/data/program/communication_json.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "core/version.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/html/data/markup.h"
#include "runtime/report/html/data/name_list.h"

namespace shardwright {
namespace {

using program::Rank;

constexpr std::size_t kMostCommunications = 30000;  // of a page: about 2 MB

// Writes the entries of one page.
// Thread safety: one thread at a time.
class CommunicationWriter {
 public:
  explicit CommunicationWriter(JsonWriter& json) : json_(json) {}

  void write(const CommunicationEntry& entry) {
    const CommunicationReport& report = entry.report;
    json_.new_line().begin_object().member("name", entry.name).member("note", entry.note);
    json_.member("total", report.total_us).member("moved", report.moved_bytes);
    json_.member("count", report.communications.size()).key("ranks").begin_array();
    for (const ReportedRankLoad& rank : report.ranks) {
      json_.begin_array().value(rank.rank).value(rank.sent).value(rank.received);
      json_.value(rank.communicating_us).value(rank.local_us).value(rank.finish_us).end_array();
    }
    json_.end_array().new_line().key("communications").begin_array();
    const std::size_t shown = std::min(report.communications.size(), room_);
    room_ -= shown;
    for (std::size_t i = 0; i < shown; ++i)
      write(report.communications[i]);
    json_.end_array().end_object();
  }

  void write_lists() {
    json_.key("groups").begin_array();
    for (const std::vector<Rank>& ranks : groups_) {
      json_.begin_array();
      for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;)
          ++end;
        json_.value(ranks[begin]).value(end - begin);
      }
      json_.end_array();
    }
    json_.end_array().new_line();
    names_.write("names", json_);
  }

 private:
  void write(const ReportedCommunication& one) {
    json_.begin_array().value(names_.number_of(one.type)).value(number_of(one.ranks));
    json_.value(one.start_us).value(one.us).value(one.pair_bytes);
    json_.value(names_.number_of(one.tensor)).value(names_.number_of(one.reader));
    if (one.receive_us > one.start_us) json_.value(one.receive_us);
    json_.end_array();
  }

  std::size_t number_of(const std::vector<Rank>& ranks) {
    const auto [at, added] = numbers_.emplace(ranks, groups_.size());
    if (added) groups_.push_back(ranks);
    return at->second;
  }

  JsonWriter& json_;
  NameList names_;
  std::map<std::vector<Rank>, std::size_t> numbers_;
  std::vector<std::vector<Rank>> groups_;
  std::size_t room_ = kMostCommunications;
};

}  // namespace

void write_communication_data(std::span<const CommunicationEntry> entries, bool of_tensors,
                              const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  json.begin_object().member("version", library_version()).member("of_tensors", of_tensors);
  CommunicationWriter writer(json);
  json.new_line().key("entries").begin_array();
  for (const CommunicationEntry& entry : entries)
    writer.write(entry);
  json.end_array().new_line();
  writer.write_lists();
  json.end_object().finish();
}

}  // namespace shardwright
