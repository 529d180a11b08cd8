#include "runtime/cli/process_group.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "core/text/printable.h"
#include "core/version.h"
#include "runtime/cli/arguments.h"
#include "runtime/execution/processes/launch.h"
#include "runtime/execution/processes/message.h"
#include "runtime/io/file.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

// Time that the first process has to write its answer and to end all processes.
constexpr std::chrono::seconds kLastAnswerTakes{60};
constexpr std::chrono::seconds kErrorTakes{5};  // time that process 0 has to print

std::string own_place() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), host.size() - 1);
  return "pid " + std::to_string(getpid()) + " on " + host.data();
}

std::string to_message(const Result<std::string>& text) {
  MessageWriter to;
  to.put_flag(text.ok());
  if (text.ok()) {
    to.put_text(*text);
  } else {
    to.put(static_cast<std::uint8_t>(text.error().code));
    to.put_text(text.error().message);
    to.put_text(text.error().where);
  }
  return to.take();
}

Result<std::string> file_of(const std::string& message) {
  MessageReader from(message);
  if (from.get_flag()) return from.get_text();
  Error error;
  error.code = static_cast<ErrorCode>(from.get<std::uint8_t>());
  error.message = from.get_text();
  error.where = from.get_text();
  return error;
}

// Passes answers to `take` in the order of tasks, whatever the order of arrival.
// Thread safety: one thread at a time. `take` must outlive this object.
class OrderedAnswers {
 public:
  explicit OrderedAnswers(const std::function<void(std::size_t, const std::string&)>& take)
      : take_(take) {}

  // `message` has the number of the task, then its answer.
  void add(const std::string& message) {
    MessageReader from(message);
    const auto task = static_cast<std::size_t>(from.get<std::uint64_t>());
    waiting_[task] = message.substr(sizeof(std::uint64_t));
    for (auto next = waiting_.find(taken_); next != waiting_.end(); next = waiting_.find(taken_)) {
      take_(taken_++, next->second);
      waiting_.erase(next);
    }
  }
  std::size_t taken() const { return taken_; }

 private:
  const std::function<void(std::size_t, const std::string&)>& take_;
  std::map<std::size_t, std::string> waiting_;
  std::size_t taken_ = 0;
};

std::string to_letter(std::uint64_t task, const std::string& answer) {
  MessageWriter to;
  to.put(task);
  return to.take() + answer;
}

}  // namespace

struct ProcessGroup::StopOnLoss {
  // Prints a loss at once: this process may be killed while its output waits for a reader.
  StopOnLoss(const ProcessGroup& group, const std::stop_token& stop)
      : on_stop(stop, [this] { either.request_stop(); }),
        on_loss(group.link_->loss(), [this, &group] {
          either.request_stop();
          group.tell_loss();
        }) {}

  std::stop_source either;
  std::stop_callback<std::function<void()>> on_stop;
  std::stop_callback<std::function<void()>> on_loss;
};

ProcessGroup::ProcessGroup(std::unique_ptr<ProcessLink> link) : link_(std::move(link)) {}
ProcessGroup::ProcessGroup(ProcessGroup&&) noexcept = default;

Result<ProcessGroup> ProcessGroup::join() {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::unique_ptr<ProcessLink> link, link_processes(current_launch()));
  ProcessGroup group(std::move(link));
  if (!group.is_alone()) SHARDWRIGHT_RETURN_IF_ERROR(group.greet());
  return group;
}

ProcessGroup::~ProcessGroup() {
  if (link_ != nullptr && !link_->lost()) link_->all_gather(std::string(1, char{kCrashed}));
}

// Checks that all processes have one version, since they must make the same decisions.
Status ProcessGroup::greet() {
  MessageWriter greeting;
  greeting.put_text(library_version());
  greeting.put_text(own_place());
  const auto all = link_->all_gather(greeting.take());
  if (!all) return loss();
  for (std::size_t process = 0; process < all->size(); ++process) {
    MessageReader from((*all)[process]);
    const std::string version = from.get_text();
    places_.push_back(from.get_text());
    if (version == library_version() && from.is_complete()) continue;
    Error error{ErrorCode::kUnsupported,
                "process " + std::to_string(process) + " (" + places_.back() + ") is of version " +
                    version + ", and process " + std::to_string(link_->process()) + " of " +
                    std::string(library_version()),
                ""};
    // The launcher ends all processes when one fails, so the others wait for process 0 to print.
    const bool speaks = link_->process() == 0;
    link_.reset();
    if (!speaks) std::this_thread::sleep_for(kErrorTakes);
    return error;
  }
  return {};
}

std::stop_token ProcessGroup::heed(std::stop_token stop) {
  if (link_ == nullptr) return stop;
  link_->heed(stop);
  stop_on_loss_ = std::make_unique<StopOnLoss>(*this, stop);
  return stop_on_loss_->either.get_token();
}

Result<std::string> ProcessGroup::read(const std::string& path) const {
  if (link_ == nullptr) return read_file(path);
  const bool reads = link_->process() == 0;
  const auto all = link_->all_gather(reads ? to_message(read_file(path)) : std::string());
  if (!all) return loss();
  return file_of(all->front());
}

Error ProcessGroup::loss() const {
  const std::uint32_t lost = link_->lost().value_or(0);
  const std::string place = lost < places_.size() ? " (" + places_[lost] + ")" : "";
  return Error{ErrorCode::kMachineLimit,
               "process " + std::to_string(lost) + " of " + std::to_string(link_->processes()) +
                   place + " does not answer: it has died or hangs",
               ""};
}

bool ProcessGroup::deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
                        const std::function<void(std::size_t, const std::string&)>& take) {
  if (link_ == nullptr) {
    for (std::size_t i = 0; i < count; ++i)
      take(i, work(i));
    return true;
  }
  OrderedAnswers answers(take);
  const auto add_messages = [&](bool waits) {
    const std::vector<std::string> messages = link_->messages(waits);
    for (const std::string& message : messages)
      answers.add(message);
    return !messages.empty();
  };
  std::optional<std::uint64_t> next;
  while ((next = link_->next_number()) && *next < count) {
    link_->post(to_letter(*next, work(static_cast<std::size_t>(*next))));
    if (link_->process() == 0) add_messages(false);
  }
  if (link_->process() != 0) return !link_->lost();
  while (answers.taken() < count && add_messages(true)) {
  }
  return answers.taken() == count;
}

// Returns true in the first of the processes that remain after a loss.
bool ProcessGroup::speaks_after_loss() const {
  const std::optional<std::uint32_t> lost = link_->lost();
  return lost && link_->process() == (*lost == 0 ? 1U : 0U);
}

void ProcessGroup::tell_loss() const {
  if (!speaks_after_loss() || has_told_->exchange(true)) return;
  std::fprintf(stderr, "shardwright: %s\n", printable(loss().to_string()).c_str());
}

// Ends all processes after the first remaining process has had time to write its answer.
int ProcessGroup::end_after_loss() const {
  if (!speaks_after_loss()) std::this_thread::sleep_for(kLastAnswerTakes);
  tell_loss();
  std::fflush(stdout);
  link_->abort(kMachineLimit);
  return kMachineLimit;
}

int ProcessGroup::finish(int status) {
  if (link_ == nullptr) return status;
  const auto all = link_->all_gather(std::string(1, static_cast<char>(status)));
  if (!all) return end_after_loss();
  if (link_->process() != 0) status = kDone;
  for (std::size_t process = 1; process < all->size(); ++process) {
    const int other = (*all)[process].front();
    if (other != kDone && other != static_cast<int>(all->front().front()))
      warn("process " + std::to_string(process) + " (" + places_[process] +
           ") did not take part to the end, and would have exited with " + std::to_string(other));
  }
  link_.reset();
  return status;
}

}  // namespace shardwright::cli
