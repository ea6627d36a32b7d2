// What the sanitizers must find: proof that they are there. finds address | undefined
#include <climits>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "address") {
    const std::vector<int> one(1);
    return one.data()[argc]; // argc is 2
  }
  if (kind == "undefined")
    return INT_MAX - 1 + argc;
  return 0;
}
