/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's header without the macros of the names of its functions, which base/late/late_library.py defines. */
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#undef curl_easy_getinfo
#undef curl_easy_setopt
