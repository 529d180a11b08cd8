// Changes JSON documents as trees, so that the result is JSON again.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/mutator/chance.h"
#include "tests/fuzz/mutator/values_mutator.h"
#include "tests/fuzz/mutator/words.h"

namespace shardwright::fuzz {

// A value of a tree with its key; the key is empty for the root and for elements of lists.
struct TreePlace {
  Json* value;
  std::string key;
};

// Thread safety: one thread at a time.
class JsonMutator {
 public:
  // Both must outlive the mutator.
  JsonMutator(const Words& words, Chance& chance) : words_(words), chance_(chance) {}

  // Makes one change: to a value, a key, or by copying, swapping, adding or removing a subtree.
  void mutate(Json& tree);
  // Puts a subtree of `other` into `tree`, if possible in place of a value with the same key.
  void cross(Json& tree, Json& other);

 private:
  std::vector<TreePlace> places_of(Json& tree) const;
  void change_scalar(const std::vector<TreePlace>& places);
  void copy_over(const std::vector<TreePlace>& places, const std::vector<TreePlace>& sources);
  void swap(const std::vector<TreePlace>& places);
  void remove_child(const std::vector<TreePlace>& places);
  void add_child(const std::vector<TreePlace>& places);
  void rename_key(const std::vector<TreePlace>& places);
  void change_shape(const std::vector<TreePlace>& places);
  std::string any_key(const std::vector<TreePlace>& places);

  const Words& words_;
  Chance& chance_;
};

}  // namespace shardwright::fuzz
