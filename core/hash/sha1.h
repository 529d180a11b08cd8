// SHA-1, for digests that compare plans. Not for security.
#pragma once

#include "core/hash/message_digest.h"

namespace shardwright {

// Source: FIPS 180-4, section 6.1.
// Thread safety: a value.
class Sha1 : public MessageDigest<Sha1, 5> {
 public:
  Sha1();

 private:
  friend class MessageDigest<Sha1, 5>;
  void compress(const unsigned char* block);
};

}  // namespace shardwright
