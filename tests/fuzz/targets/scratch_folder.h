// A temporary folder and captured output for targets that run the command.
#pragma once

#include <string>

namespace shardwright::fuzz {

// Makes a new folder the current folder. The destructor leaves and removes it. Thread safety: one
// thread at a time, one folder per process.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Writes a file into the folder.
  void write(const std::string& name, const std::string& text) const;
  // Removes all files.
  void clear() const;

 private:
  std::string path_;
};

// Captures what is written to a file descriptor. Thread safety: one thread at a time.
class CapturedOutput {
 public:
  explicit CapturedOutput(int descriptor);
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  // Returns everything that was written since the constructor.
  std::string text() const;

 private:
  int descriptor_;
  int original_;
  int memory_;
};

}  // namespace shardwright::fuzz
