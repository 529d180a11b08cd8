// The HTML pages without their text and data. The build generates them from page/.
#pragma once

#include <string_view>

namespace shardwright {

// The parts of a page around its text, its origin and its data. The text is shown if scripts are
// disabled.
struct PageParts {
  std::string_view before_text;
  std::string_view before_origin;
  std::string_view before_data;
  std::string_view after_data;
};

PageParts answer_page();
PageParts aten_plan_page();
PageParts aten_sweep_page();
PageParts audit_page();
PageParts plan_change_page();
PageParts plan_page();
PageParts problem_change_page();
PageParts sweep_page();

}  // namespace shardwright
