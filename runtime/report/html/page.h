// The HTML pages around the text and the data of reports; generated from page/ by the build.
#pragma once

#include <string_view>

namespace shardwright {

// What comes before, between and after. The text is what readers see without scripts.
struct PageParts {
  std::string_view before_text;
  std::string_view before_data;
  std::string_view after_data;
};

PageParts answer_page();
PageParts aten_plan_page();
PageParts aten_sweep_page();
PageParts plan_change_page();
PageParts plan_page();
PageParts problem_change_page();
PageParts sweep_page();

}  // namespace shardwright
