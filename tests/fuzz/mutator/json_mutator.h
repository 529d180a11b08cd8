// Changes JSON documents as trees, so that the result is still JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/mutator/chance.h"
#include "tests/fuzz/mutator/values_mutator.h"
#include "tests/fuzz/mutator/words.h"

namespace shardwright::fuzz {

// A value in a tree with its key. The root and the elements of lists have an empty key.
struct TreePlace {
  Json* value;
  std::string key;
};

// Thread safety: one thread at a time.
class JsonMutator {
 public:
  // `words` and `chance` must outlive the mutator.
  JsonMutator(const Words& words, Chance& chance) : words_(words), chance_(chance) {}

  // Makes one change: of a value, of a key, or of a subtree (copies, swaps, adds or removes it).
  void mutate(Json& tree);
  // Puts a subtree of `other` into `tree`, in place of a value with the same key if there is one.
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
