#!/usr/bin/sed -f
# The first comment of a file is about the file, every other about what follows it, or stands behind what it is about.
# Headings of sections are about nothing.
/^\/\* ----/b
1s,^// \(.*\),/// @file\n/// \1\n,
1s,^/\* \(.*\) \*/$,/** @file\n \1 */\n,
s,^\( *\)// ,\1/// ,
s,^\( *\)//$,\1///,
s,\([;\,]\)  *// ,\1  ///< ,
s,^\( *\)/\* \(.*\)$,\1/** \2,
s,\([;\,]\)  */\* ,\1 /**< ,
# In text for people <table> is a word and @ a character.
/^ *\/\/\/\|\/\/\/<\|^ *\*\|\/\*\*/{
s,<\([a-z_]\),\&lt;\1,g
s,#,\&\#35;,g
}
# Doxygen fails on a specialisation of a template in a namespace that it has not read.
s,^struct std::hash<.*> {,struct hash {,
