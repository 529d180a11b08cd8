#include "runtime/execution/mpi/mailbox.h"

#include <algorithm>
#include <utility>

namespace shardwright {
namespace {

enum Tag : int { kMessage = 1, kBeat = 2 };

bool is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

}  // namespace

Mailbox::Mailbox() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return;
  if (provided < MPI_THREAD_FUNNELED) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int processes = 0;
  int process = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  processes_ = static_cast<std::uint32_t>(processes);
  process_ = static_cast<std::uint32_t>(process);
  inbox_.resize(processes_);
  beats_.resize(processes_, MPI_REQUEST_NULL);
  forgive(Clock::now());
}

void Mailbox::send(std::string message) {
  own_ = std::make_shared<const std::string>(std::move(message));
  for (std::uint32_t to = 0; to < processes_; ++to) {
    if (to != process_) start_to_send(to, kMessage, own_);
  }
}

void Mailbox::send_message(std::uint32_t to, Message::Kind kind, std::string text) {
  start_to_send(to, kind, std::make_shared<const std::string>(std::move(text)));
}

void Mailbox::start_to_send(std::uint32_t to, int tag, std::shared_ptr<const std::string> text) {
  Outgoing& sent = outbox_.emplace_back();
  sent.bytes = std::move(text);
  MPI_Isend(sent.bytes->data(), static_cast<int>(sent.bytes->size()), MPI_BYTE,
            static_cast<int>(to), tag, MPI_COMM_WORLD, &sent.request);
}

void Mailbox::beat() {
  for (std::uint32_t to = 0; to < processes_; ++to) {
    if (to == process_ || !is_done(beats_[to])) continue;
    MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(to), kBeat, MPI_COMM_WORLD, &beats_[to]);
  }
}

void Mailbox::accept(const MPI_Status& found) {
  const auto from = static_cast<std::uint32_t>(found.MPI_SOURCE);
  heard_[from] = Clock::now();
  if (found.MPI_TAG == kBeat) {
    MPI_Recv(nullptr, 0, MPI_BYTE, found.MPI_SOURCE, kBeat, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  int size = 0;
  MPI_Get_count(&found, MPI_BYTE, &size);
  // The receive must not block: the sender of a long message may die in the middle.
  const auto start = [&](std::string& bytes, MPI_Request& request) {
    bytes.resize(static_cast<std::size_t>(size));
    MPI_Irecv(bytes.data(), size, MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG, MPI_COMM_WORLD,
              &request);
  };
  if (found.MPI_TAG == kMessage) {
    Incoming& next = inbox_[from].emplace_back();
    start(next.bytes, next.request);
  } else {
    ComingLetter& next = letters_.emplace_back();
    next.message = {from, found.MPI_TAG, ""};
    start(next.message.text, next.request);
  }
}

bool Mailbox::take_next() {
  int any = 0;
  MPI_Status found;
  const int probed = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, &found);
  if (probed != MPI_SUCCESS || any == 0) return false;
  accept(found);
  return true;
}

bool Mailbox::receive() {
  bool any = false;
  while (take_next())
    any = true;
  for (std::deque<Incoming>& messages : inbox_) {
    for (Incoming& message : messages) {
      if (message.request != MPI_REQUEST_NULL && is_done(message.request)) any = true;
    }
  }
  return any;
}

bool Mailbox::is_sent() {
  outbox_.remove_if([](Outgoing& sent) { return is_done(sent.request); });
  return outbox_.empty();
}

bool Mailbox::has_all() const {
  for (std::uint32_t from = 0; from < processes_; ++from) {
    if (from == process_) continue;
    if (inbox_[from].empty() || inbox_[from].front().request != MPI_REQUEST_NULL) return false;
  }
  return true;
}

std::vector<std::string> Mailbox::take_all() {
  std::vector<std::string> all(processes_);
  for (std::uint32_t from = 0; from < processes_; ++from) {
    if (from == process_) {
      all[from] = *own_;
      continue;
    }
    all[from] = std::move(inbox_[from].front().bytes);
    inbox_[from].pop_front();
  }
  return all;
}

std::vector<Message> Mailbox::take_messages() {
  std::vector<Message> arrived;
  for (auto next = letters_.begin(); next != letters_.end();) {
    if (!is_done(next->request)) {
      ++next;
      continue;
    }
    arrived.push_back(std::move(next->message));
    next = letters_.erase(next);
  }
  return arrived;
}

std::optional<std::uint32_t> Mailbox::silent_since(Clock::time_point since) const {
  for (std::uint32_t from = 0; from < processes_; ++from) {
    if (from != process_ && heard_[from] < since) return from;
  }
  return std::nullopt;
}

void Mailbox::forgive(Clock::time_point now) { heard_.assign(processes_, now); }

void Mailbox::end() { MPI_Finalize(); }

}  // namespace shardwright
