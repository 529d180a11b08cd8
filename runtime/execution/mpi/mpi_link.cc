#include "runtime/execution/mpi/mpi_link.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace shardwright {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeatInterval = 100ms;
constexpr auto kSilence = 5s;
// Open MPI sends SIGKILL one second after SIGTERM (odls_base_sigkill_timeout).
constexpr auto kSilenceAfterStop = 500ms;
// If the MPI thread has not run for longer than this, this process itself was suspended.
constexpr auto kOwnPause = 1s;
// While the caller's thread waits for messages, the MPI thread polls this many times without a
// pause. After that it pauses after each poll, to leave busy cores to other processes.
constexpr unsigned kTurnsAtOnce = 64;
constexpr auto kPause = 50us;
// The pause after each poll while the caller's thread computes.
constexpr auto kLongPause = 2ms;
constexpr auto kAbortTakes = 3s;

// Starts a thread in which all signals are blocked; threads that it starts inherit the mask.
template <class Body>
std::thread start_without_signals(const Body& body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(body);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace

MpiLink::MpiLink() : thread_(start_without_signals([this] { serve(); })) {
  std::unique_lock<std::mutex> lock(mutex_);
  from_thread_.wait(lock, [&] { return shared_.has_started; });
}

MpiLink::~MpiLink() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    shared_.is_closing = true;
  }
  to_thread_.notify_one();
  thread_.join();
}

// Lets the MPI thread work until `is_there` returns true or a process is lost.
template <class IsThere>
void MpiLink::wait(std::unique_lock<std::mutex>& lock, const IsThere& is_there) {
  shared_.is_awaited = true;
  to_thread_.notify_one();
  from_thread_.wait(lock, [&] { return is_there() || shared_.lost; });
  shared_.is_awaited = false;
}

std::optional<std::vector<std::string>> MpiLink::all_gather(const std::string& message) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (shared_.lost) return std::nullopt;
  shared_.outgoing = message;
  shared_.is_gathering = true;
  wait(lock, [&] { return !shared_.is_gathering; });
  shared_.is_gathering = false;
  return std::exchange(shared_.gathered, std::nullopt);
}

void MpiLink::heed(std::stop_token stop) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shared_.stop = std::move(stop);
}

std::optional<std::uint64_t> MpiLink::next_number() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (shared_.lost) return std::nullopt;
  if (process_ == 0) return shared_.numbers_given++;
  shared_.asks_for_number = true;
  wait(lock, [&] { return shared_.number.has_value(); });
  return std::exchange(shared_.number, std::nullopt);
}

void MpiLink::post(std::string message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (process_ == 0 ? shared_.messages : shared_.posts).push_back(std::move(message));
  to_thread_.notify_one();
}

std::vector<std::string> MpiLink::messages(bool waits) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (waits) wait(lock, [&] { return !shared_.messages.empty(); });
  return std::exchange(shared_.messages, {});
}

std::optional<std::uint32_t> MpiLink::lost() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return shared_.lost;
}

void MpiLink::abort(int status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    shared_.abort_status = status;
  }
  to_thread_.notify_one();
  std::this_thread::sleep_for(kAbortTakes);
  _exit(status);
}

void MpiLink::serve() {
  Mailbox mail;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    processes_ = mail.processes();
    process_ = mail.process();
    shared_.has_started = true;
  }
  from_thread_.notify_one();
  if (!mail.is_open()) return;
  last_served_ = Clock::now();
  while (!has_ended(mail))
    rest(serve_once(mail));
  if (!lost()) mail.end();
}

// Returns true if any message was sent or arrived.
bool MpiLink::serve_once(Mailbox& mail) {
  bool has_moved = send(mail);
  has_moved |= mail.receive();
  has_moved |= take_messages(mail);
  mail.is_sent();
  keep_alive(mail, Clock::now());
  return complete_exchange(mail) || has_moved;
}

bool MpiLink::send(Mailbox& mail) {
  std::optional<std::string> outgoing;
  std::vector<std::string> posts;
  bool asks = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (shared_.abort_status) MPI_Abort(MPI_COMM_WORLD, *shared_.abort_status);
    outgoing = std::exchange(shared_.outgoing, std::nullopt);
    posts = std::exchange(shared_.posts, {});
    asks = std::exchange(shared_.asks_for_number, false);
  }
  const bool has_moved = asks || !posts.empty() || outgoing;
  if (asks) mail.send_message(0, Message::kAskNumber, "");
  for (std::string& post : posts)
    mail.send_message(0, Message::kPost, std::move(post));
  if (outgoing) mail.send(*std::move(outgoing));
  return has_moved;
}

bool MpiLink::take_messages(Mailbox& mail) {
  std::vector<Message> messages = mail.take_messages();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Message& message : messages) {
    if (message.kind == Message::kAskNumber) {
      mail.send_message(message.from, Message::kNumber, std::to_string(shared_.numbers_given++));
    } else if (message.kind == Message::kNumber) {
      shared_.number = std::stoull(message.text);
    } else {
      shared_.messages.push_back(std::move(message.text));
    }
  }
  if (!messages.empty()) from_thread_.notify_one();
  return !messages.empty();
}

bool MpiLink::complete_exchange(Mailbox& mail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!shared_.is_gathering || shared_.outgoing || !mail.has_all()) return false;
  shared_.gathered = mail.take_all();
  shared_.is_gathering = false;
  from_thread_.notify_one();
  return true;
}

void MpiLink::keep_alive(Mailbox& mail, Clock::time_point now) {
  if (now - last_beat_ >= kBeatInterval) {
    mail.beat();
    last_beat_ = now;
  }
  if (now - last_served_ > kOwnPause) mail.forgive(now);
  last_served_ = now;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (shared_.lost) return;
    const Clock::duration limit = shared_.stop.stop_requested() ? kSilenceAfterStop : kSilence;
    shared_.lost = mail.silent_since(now - limit);
    if (!shared_.lost) return;
    from_thread_.notify_one();
  }
  loss_.request_stop();
}

// Returns true if the link is closing, and either all messages have left or a process was lost.
bool MpiLink::has_ended(Mailbox& mail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool has_sent = !shared_.outgoing && shared_.posts.empty() && mail.is_sent();
  return shared_.is_closing && (shared_.lost || has_sent);
}

void MpiLink::rest(bool has_moved) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool is_awaited = shared_.is_awaited && !shared_.lost;
  idle_turns_ = has_moved ? 0 : idle_turns_ + 1;
  if (is_awaited && idle_turns_ < kTurnsAtOnce) {
    lock.unlock();
    std::this_thread::yield();
    return;
  }
  to_thread_.wait_for(lock, is_awaited ? Clock::duration(kPause) : Clock::duration(kLongPause),
                      [&] { return shared_.has_work(); });
}

}  // namespace shardwright
