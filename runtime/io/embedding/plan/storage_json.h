// Memory by tier in JSON.
#pragma once

#include "core/embedding/problem/storage.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes [hbm, ddr] in bytes, and SSD as the third where the problem counts it or it is not 0.
inline void write_storage(const embedding::Storage& storage, bool counts_ssd, JsonWriter& json) {
  json.begin_array().value(storage.hbm.value()).value(storage.ddr.value());
  if (counts_ssd || storage.ssd != Bytes()) json.value(storage.ssd.value());
  json.end_array();
}

}  // namespace shardwright
