# Sourced by the scripts that build: `shardwright_setup` installs on Debian what the build needs and the machine lacks,
# `shardwright_configure [PRESET]` configures build/release or what the preset says. Both run in the repository's root.

shardwright_packages=(
  coinor-libclp-dev
  doctest-dev
  libbenchmark-dev
  libboost-dev
  libcli11-dev
  libmimalloc-dev
  libopenmpi-dev
  libspdlog-dev
  libtbb-dev
  nlohmann-json3-dev
  openmpi-bin
  python3-venv
  zlib1g-dev
)

# command:package
shardwright_tools=(
  ccache:ccache
  cmake:cmake
  g++:g++
  make:make
  ninja:ninja-build
  pkg-config:pkg-config
  python3:python3
  valgrind:valgrind
)

shardwright_missing() {
  local tool package
  for tool in "${shardwright_tools[@]}"; do
    command -v "${tool%%:*}" >/dev/null 2>&1 || echo "${tool#*:}"
  done
  for package in "${shardwright_packages[@]}"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

shardwright_setup() {
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "No apt-get here: the packages that the build needs are taken to be installed." >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(shardwright_missing)
  if [[ ${#missing[@]} -eq 0 ]]; then
    return 0
  fi
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "Install these packages as root, then run this again: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends "${missing[@]}" >&2
}

# A test builds the libraries again as shared ones, from the same sources: a compiler cache halves the compile time. It
# must take paths relative to the build folder, because the two builds have different ones.
# CMAKE_CXX_COMPILER_LAUNCHER in the environment takes precedence.
shardwright_configure() {
  if command -v ccache >/dev/null 2>&1; then
    export CCACHE_BASEDIR="${CCACHE_BASEDIR-$PWD}"
    export CMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER-ccache}"
    export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}"
  fi
  # With sanitizers, and where Open MPI is not installed, processes cannot be linked.
  local mpi=OFF
  case ${1-release} in
    release | ci-*) pkg-config --exists ompi-c 2>/dev/null && mpi=ON ;;
  esac
  cmake --preset "${1-release}" -D SHARDWRIGHT_BUILD_MPI="$mpi"
}
