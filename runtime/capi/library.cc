// Library version, and the names of statuses and enumerators.
#include "core/embedding/problem/kinds.h"
#include "core/version.h"
#include "runtime/capi/shardwright.h"

namespace {

// Returns null if no enumerator has this number. The names are literals and end in a NUL.
template <class Enum>
const char* name_of(std::uint32_t number) {
  const auto& names = shardwright::embedding::EnumNames<Enum>::kNames;
  return number < names.size() ? names[number].data() : nullptr;
}

}  // namespace

const char* shardwright_version(void) { return shardwright::library_version().data(); }

uint32_t shardwright_abi_version(void) { return SHARDWRIGHT_ABI_VERSION; }

const char* shardwright_status_name(shardwright_status status) {
  switch (status) {
    case SHARDWRIGHT_OK:
      return "ok";
    case SHARDWRIGHT_INVALID_ARGUMENT:
      return "invalid argument";
    case SHARDWRIGHT_INVALID_HANDLE:
      return "invalid handle";
    case SHARDWRIGHT_INVALID_INPUT:
      return "invalid input";
    case SHARDWRIGHT_INFEASIBLE:
      return "infeasible";
    case SHARDWRIGHT_STOPPED:
      return "stopped";
    case SHARDWRIGHT_VERIFICATION_FAILED:
      return "verification failed";
    case SHARDWRIGHT_UNSUPPORTED:
      return "unsupported";
    case SHARDWRIGHT_BUFFER_TOO_SMALL:
      return "buffer too small";
    case SHARDWRIGHT_NO_PLAN:
      return "no plan";
    case SHARDWRIGHT_OUT_OF_MEMORY:
      return "out of memory";
    case SHARDWRIGHT_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}

const char* shardwright_sharding_type_name(uint32_t number) {
  return name_of<shardwright::embedding::ShardingType>(number);
}

const char* shardwright_compute_kernel_name(uint32_t number) {
  return name_of<shardwright::embedding::ComputeKernel>(number);
}

const char* shardwright_data_type_name(uint32_t number) {
  return name_of<shardwright::embedding::DataType>(number);
}
