// SHA-256, for digests that identify problems and plans. Not for security.
#pragma once

#include "core/hash/sha1.h"

namespace shardwright {

// Source: FIPS 180-4, section 6.2.
// Thread safety: a value.
class Sha256 : public MessageDigest<Sha256, 8> {
 public:
  Sha256();

 private:
  friend class MessageDigest<Sha256, 8>;
  void compress(const unsigned char* block);
};

}  // namespace shardwright
