// A mutex with annotations for clang's thread-safety analysis. Other compilers ignore them.
#pragma once

#include <shared_mutex>

#if defined(__clang__)
#define SHARDWRIGHT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SHARDWRIGHT_THREAD_ANNOTATION(x)
#endif

#define SHARDWRIGHT_GUARDED_BY(x) SHARDWRIGHT_THREAD_ANNOTATION(guarded_by(x))
#define SHARDWRIGHT_REQUIRES(...) SHARDWRIGHT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SHARDWRIGHT_REQUIRES_SHARED(...) \
  SHARDWRIGHT_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))

namespace shardwright {

// A readers-writer lock.
// Thread safety: every member may be called from any thread.
class SHARDWRIGHT_THREAD_ANNOTATION(capability("mutex")) SharedMutex {
 public:
  void lock() SHARDWRIGHT_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() SHARDWRIGHT_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  void lock_shared() SHARDWRIGHT_THREAD_ANNOTATION(acquire_shared_capability()) {
    mutex_.lock_shared();
  }
  void unlock_shared() SHARDWRIGHT_THREAD_ANNOTATION(release_shared_capability()) {
    mutex_.unlock_shared();
  }

 private:
  std::shared_mutex mutex_;
};

class SHARDWRIGHT_THREAD_ANNOTATION(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex)
      SHARDWRIGHT_THREAD_ANNOTATION(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() SHARDWRIGHT_THREAD_ANNOTATION(release_generic_capability()) {
    mutex_.unlock_shared();
  }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SHARDWRIGHT_THREAD_ANNOTATION(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) SHARDWRIGHT_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~WriterLock() SHARDWRIGHT_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace shardwright
