#include "runtime/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "runtime/io/system_error.h"

namespace shardwright {
namespace {

constexpr int kMaxAttempts = 1000;  // attempts to find an unused temporary name
constexpr int kMostLinks = 40;      // as in Linux, path_resolution(7)
constexpr unsigned kPermissions = 0777;
constexpr unsigned kNewFile = 0666;  // reduced by the umask
constexpr const char* kCannotWrite = "cannot write";

// The names of unfinished files, for a process that ends without unwinding. If there are more files
// than slots, that process leaves the others behind.
std::array<std::atomic<const char*>, 8> unfinished_names{};

void remember_unfinished(const char* name) noexcept {
  for (std::atomic<const char*>& slot : unfinished_names) {
    const char* free_slot = nullptr;
    if (slot.compare_exchange_strong(free_slot, name)) return;
  }
}

void forget_unfinished(const char* name) noexcept {
  for (std::atomic<const char*>& slot : unfinished_names) {
    const char* taken = name;
    if (slot.compare_exchange_strong(taken, nullptr)) return;
  }
}

std::string descriptor_name(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Finds an unused name for a temporary file and creates the file with take(name), which returns
// false with errno on failure (EEXIST for a used name). Returns the name, or null with errno.
template <class Take>
std::unique_ptr<const std::string> take_name(const std::string& target, const Take& take) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    auto name = std::make_unique<const std::string>(target + "." + std::to_string(getpid()) + "." +
                                                    std::to_string(attempt) + ".tmp");
    remember_unfinished(name->c_str());
    if (take(name->c_str())) return name;
    const int error = errno;
    forget_unfinished(name->c_str());
    errno = error;
    if (error != EEXIST) return nullptr;
  }
  return nullptr;
}

// Returns the descriptor that a path such as /dev/stdout or /dev/fd/3 names, or nullopt.
std::optional<int> named_descriptor(const std::string& path) {
  constexpr std::array<std::string_view, 2> kFolders{"/proc/self/fd/", "/dev/fd/"};
  for (const std::string_view folder : kFolders) {
    if (!path.starts_with(folder)) continue;
    const std::string number = path.substr(folder.size());
    if (number.empty() || number.size() > 6) return std::nullopt;
    if (number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::atoi(number.c_str());
  }
  return std::nullopt;
}

bool is_link(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
}

// Follows symbolic links until the path is a file, an open descriptor, or unused.
std::string followed(std::string path) {
  for (int links = 0; links < kMostLinks && is_link(path); ++links) {
    if (named_descriptor(path)) return path;
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

// Opens an unnamed file in the folder of `target` and returns its descriptor; -1 if the file system
// does not support unnamed files.
int open_unnamed(const std::string& target, unsigned mode) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder_of(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  // Without /proc, linkat() could not name the file later.
  if (descriptor < 0 || access(descriptor_name(descriptor).c_str(), F_OK) == 0) return descriptor;
  close(descriptor);
#endif
  return -1;
}

// Syncs the folder, which has the file's new name. Some file systems cannot sync folders.
void sync_folder(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace

std::string written_file(const std::string& path) { return followed(path); }

void remove_unfinished_files() noexcept {
  for (std::atomic<const char*>& slot : unfinished_names) {
    if (const char* const name = slot.exchange(nullptr)) unlink(name);
  }
}

Result<OutputFile> OutputFile::open_stream(int descriptor, std::string path, bool replaces,
                                           Name temporary) {
  std::FILE* const file = descriptor < 0 ? nullptr : fdopen(descriptor, "wb");
  if (file != nullptr) return OutputFile(file, std::move(path), replaces, std::move(temporary));
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (temporary) {
    unlink(temporary->c_str());
    forget_unfinished(temporary->c_str());
  }
  return open_error(std::move(path), kCannotWrite, error);
}

Result<OutputFile> OutputFile::open_named(const std::string& target, unsigned mode) {
  int descriptor = -1;
  Name name = take_name(target, [&](const char* candidate) {
    descriptor = ::open(candidate, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    return descriptor >= 0;
  });
  return open_stream(descriptor, target, true, std::move(name));
}

Result<OutputFile> OutputFile::open(const std::string& path, Unfinished unfinished) {
  if (path == "-") return OutputFile(stdout, "standard output", false, nullptr);
  const std::string target = followed(path);
  if (const std::optional<int> descriptor = named_descriptor(target)) {
    return open_stream(fcntl(*descriptor, F_DUPFD_CLOEXEC, 0), path, false, nullptr);
  }
  struct stat status = {};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return open_error(path, kCannotWrite, errno);
  if (exists && S_ISDIR(status.st_mode)) return invalid_input(path, "is a directory");
  if (exists && !S_ISREG(status.st_mode)) {
    return open_stream(::open(target.c_str(), O_WRONLY | O_CLOEXEC), path, false, nullptr);
  }
  if (target.empty() || target.back() == '/') return open_error(path, kCannotWrite, ENOENT);
  const unsigned mode = exists ? status.st_mode & kPermissions : kNewFile;
  const int descriptor = unfinished == Unfinished::kUnnamed ? open_unnamed(target, mode) : -1;
  Result<OutputFile> file =
      descriptor >= 0 ? open_stream(descriptor, target, true, nullptr) : open_named(target, mode);
  // An existing file keeps its mode; the umask applies only to new files.
  if (file.ok() && exists) fchmod(fileno(file->file_), mode);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      replaces_(other.replaces_),
      temporary_(std::move(other.temporary_)),
      error_(other.error_) {}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  drop_temporary();
}

void OutputFile::drop_temporary() {
  if (!temporary_) return;
  unlink(temporary_->c_str());
  forget_unfinished(temporary_->c_str());
  temporary_.reset();
}

void OutputFile::write(std::string_view text) {
  if (error_ != 0 || text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

// Syncs the written data to disk. Returns false with errno.
bool OutputFile::store() {
  if (std::fflush(file_) != 0) return false;
  // EINVAL and ENOSYS: the file system cannot sync.
  return !replaces_ || fsync(fileno(file_)) == 0 || errno == EINVAL || errno == ENOSYS;
}

// Gives the new file its name, replacing the old file. Returns false with errno on failure.
bool OutputFile::publish() {
  if (!temporary_) {
    const std::string unnamed = descriptor_name(fileno(file_));
    const auto link_as = [&](const char* name) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(path_.c_str())) return true;
    if (errno != EEXIST) return false;
    // linkat() cannot replace a file, so the new file gets a temporary name and is then renamed.
    temporary_ = take_name(path_, link_as);
    if (!temporary_) return false;
  }
  if (std::rename(temporary_->c_str(), path_.c_str()) != 0) return false;
  forget_unfinished(temporary_->c_str());
  temporary_.reset();
  return true;
}

Status OutputFile::commit() {
  if (error_ == 0 && !store()) error_ = errno;
  if (error_ == 0 && replaces_ && !publish()) error_ = errno;
  std::FILE* const file = std::exchange(file_, nullptr);
  if (file != stdout && std::fclose(file) != 0 && error_ == 0) error_ = errno;
  drop_temporary();
  if (error_ != 0) return system_error(ErrorCode::kMachineLimit, path_, kCannotWrite, error_);
  if (replaces_) sync_folder(path_);
  return {};
}

Status write_file(const std::string& path, std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  file.write(text);
  return file.commit();
}

}  // namespace shardwright
