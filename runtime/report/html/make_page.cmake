# Puts the parts of a page into its frame, as C++ source: cmake -D PAGE_DIR=... -D NAME=plan -D TITLE=... -D PARTS=a.css,b.js
# -D OUTPUT=... -P make_page.cmake. In frame.html, "@text@", "@origin@" and "@data@" stand for what a report fills in.

set(delimiter shardwright_page)
file(READ ${PAGE_DIR}/frame.html page)
string(REPLACE "," ";" PARTS "${PARTS}")
foreach(part IN LISTS PARTS)
  file(READ ${PAGE_DIR}/${part} content)
  if(part MATCHES "\\.css$")
    string(APPEND style "${content}")
  else()
    string(APPEND script "${content}")
  endif()
endforeach()
foreach(place title style script)
  string(FIND "${page}" "@${place}@" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "frame.html has no @${place}@")
  endif()
endforeach()
string(REPLACE "@title@" "${TITLE}" page "${page}")
string(REPLACE "@style@" "${style}" page "${page}")
string(REPLACE "@script@" "${script}" page "${page}")

string(FIND "${page}" "@text@" text_at)
string(FIND "${page}" "@origin@" origin_at)
string(FIND "${page}" "@data@" data_at)
string(FIND "${page}" ")${delimiter}" clash)
if(text_at EQUAL -1 OR NOT origin_at GREATER text_at OR NOT data_at GREATER origin_at OR NOT clash EQUAL -1)
  message(FATAL_ERROR "frame.html needs @text@, @origin@ and @data@ in this order, and no part may contain )${delimiter}")
endif()
string(SUBSTRING "${page}" 0 ${text_at} before_text)
math(EXPR text_at "${text_at} + 6")
math(EXPR length "${origin_at} - ${text_at}")
string(SUBSTRING "${page}" ${text_at} ${length} before_origin)
math(EXPR origin_at "${origin_at} + 8")
math(EXPR length "${data_at} - ${origin_at}")
string(SUBSTRING "${page}" ${origin_at} ${length} before_data)
math(EXPR data_at "${data_at} + 6")
string(SUBSTRING "${page}" ${data_at} -1 after_data)

# One literal for each part: the compilers that we build with take them at any length.
file(WRITE ${OUTPUT} "#pragma GCC diagnostic ignored \"-Woverlength-strings\"
#include \"runtime/report/html/page.h\"

namespace shardwright {

PageParts ${NAME}_page() {
  return {R\"${delimiter}(${before_text})${delimiter}\",
          R\"${delimiter}(${before_origin})${delimiter}\",
          R\"${delimiter}(${before_data})${delimiter}\",
          R\"${delimiter}(${after_data})${delimiter}\"};
}

}  // namespace shardwright
")
