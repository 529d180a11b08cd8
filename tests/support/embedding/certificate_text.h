// Bound certificates as text, to compare two of them.
#pragma once

#include <cstdint>
#include <ios>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"

namespace shardwright::test_support {

inline void write_multipliers(const std::vector<embedding::CapacityMultipliers>& all,
                              std::ostream& out) {
  for (const embedding::CapacityMultipliers& own : all)
    out << own.load << ' ' << own.hbm << ' ' << own.ddr << ' ' << own.ssd << ' ';
  out << "; ";
}

// Returns all members of the certificate except its load factors. Numbers are exact.
inline std::string certificate_text(const embedding::BoundCertificate& certificate) {
  std::ostringstream out;
  out << std::hexfloat << certificate.bound << ' ' << certificate.by_search << ' '
      << certificate.uniform_apart << ": ";
  for (const std::uint32_t rank_class : certificate.class_of_rank)
    out << rank_class << ' ';
  for (const embedding::BoundNode& node : certificate.nodes) {
    out << '\n' << node.is_leaf << ' ' << node.by_search << ' ' << node.count << ": ";
    for (const embedding::TableId table : node.tables)
      out << table.value() << ' ';
    for (const embedding::OptionDomain& kept : node.first_child)
      out << kept.option.value() << '/' << kept.classes << ' ';
    if (node.uniform_split)
      out << "split " << node.uniform_split->rank_class << ' ' << node.uniform_split->at << ' ';
    for (const std::vector<embedding::CapacityMultipliers>& own : node.fixing)
      write_multipliers(own, out);
    write_multipliers(node.multipliers, out);
    for (const embedding::ShardDual& dual : node.shard_duals)
      out << dual.option.value() << '/' << dual.run << '/' << dual.value << ' ';
    for (const double value : node.max_pattern_values)
      out << value << ' ';
    write_multipliers(node.whole_multipliers, out);
  }
  return out.str();
}

}  // namespace shardwright::test_support
