#include "core/redistribution/placement/placement.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement_notation.h"

namespace shardwright::placement_test {

namespace {

using namespace shardwright::redistribution;

Placement placed(const std::vector<std::string>& words, std::size_t num_dims = 3) {
  const Result<Placement> read = read_words(words, num_dims);
  REQUIRE_MESSAGE(read.ok(), read.error().to_string());
  return *read;
}

Error refused(const std::vector<std::string>& words, std::size_t num_dims = 3) {
  const Result<Placement> read = read_words(words, num_dims);
  REQUIRE_FALSE(read.ok());
  return read.error();
}

}  // namespace

TEST_CASE("placement: axes shard in the order in which they were added") {
  Placement placement =
      Placement().with_shard(2, 0).with_shard(0, 0).with_partial(1, ReduceOp::kMax);
  CHECK(placement.axes_of(0) == Axes{2, 0});
  CHECK(placement.index(0) == 1);
  CHECK(placement.is_innermost(0));
  CHECK_FALSE(placement.is_innermost(2));
  CHECK(placement.on(1) == AxisPlacement::partial(ReduceOp::kMax));
  CHECK(placement.has_partial());
  CHECK(Placement::of_code(placement.code()) == placement);
  placement = placement.with_shard(0, 2);
  CHECK(placement.axes_of(0) == Axes{2});
  CHECK(placement.axes_of(2) == Axes{0});
}

TEST_CASE("placement: words are read back as they were written, with the shard order") {
  const std::vector<std::vector<std::string>> kAll{{"R"},
                                                   {"S(0)", "P(sum)", "S(2)"},
                                                   {"S(1)[1]", "S(1)[0]"},
                                                   {"S(0)", "S(0)", "P(avg)"},
                                                   {"S(2)[1]", "S(0)", "S(2)[2]", "S(2)[0]"},
                                                   {"P(product)", "P(product)"},
                                                   {"P(min)", "R"}};
  for (const std::vector<std::string>& words : kAll)
    CHECK(to_words(placed(words), words.size()) == words);
  CHECK(placed({"P"}) == placed({"P(sum)"}));
  CHECK(placed({"S(1)[0]", "S(1)[1]"}) == placed({"S(1)", "S(1)"}));
  CHECK(to_text(placed({"S(1)[1]", "S(1)[0]"}), 2) == "S(1)[1] S(1)[0]");
}

TEST_CASE("placement: bad words are refused with their axis and a remedy") {
  CHECK(refused({"R", "S"}).where == "/1");
  CHECK(refused({"R", "S"}).message.find("write \"R\", \"S(0)\"") != std::string::npos);
  CHECK(refused({"S(3)"}).message.find("3 dimensions") != std::string::npos);
  CHECK(refused({"S(0)[1]", "S(0)"}).message.find("indices 0 to 1") != std::string::npos);
  CHECK(refused({"S(0)[1]", "S(0)[1]"}).where == "/1");
  CHECK(refused({"P(sum)", "P(max)"}).message.find("cannot be combined") != std::string::npos);
  CHECK(read_words(std::vector<std::string>{"P(sum)", "P(avg)"}, 1).ok());
  for (const char* word :
       {"", "s(0)", "S(0", "S(-1)", "S(99999999999999999999)", "S(0)[]", "P(mean)"})
    CHECK(refused({word}).where == "/0");
  CHECK(refused(std::vector<std::string>(9, "R")).message.find("at most 8 axes") !=
        std::string::npos);
  CHECK(refused({"R"}, 10).message.find("at most 9 dimensions") != std::string::npos);
  const std::vector<AxisPlacement> axes{AxisPlacement::shard(0), AxisPlacement::shard(1)};
  const std::vector<ShardOrder> order{{0, Axes{0, 1}}};
  CHECK(Placement::make(axes, 2, order).error().where == "/order/0");
  const std::vector<ShardOrder> beyond{{5, Axes{}}};
  CHECK(Placement::make(axes, 2, beyond).error().where == "/order/0");
}

TEST_CASE(
    "placement: split factors of strided shards are those of DTensor, and give the order back") {
  // From the docstring of torch's conversion: mesh 4 x 3 x 2, dimension 0 cut by axes 2, 0, 1.
  const MeshShape mesh{4, 3, 2};
  const Placement placement = placed({"S(0)[1]", "S(0)[2]", "S(0)[0]"});
  CHECK(split_factors(mesh, placement) == std::vector<std::int64_t>{2, 2, 1});
  const std::vector<AxisPlacement> axes(3, AxisPlacement::shard(0));
  const std::vector<std::int64_t> factors{2, 2, 1};
  CHECK(*placement_of_split_factors(mesh, axes, 1, factors) == placement);
  const std::vector<std::int64_t> impossible{5, 1, 1};
  CHECK(placement_of_split_factors(mesh, axes, 1, impossible).error().where == "/0");
  CHECK(split_factors(mesh, placed({"S(0)", "R", "S(0)"})) == std::vector<std::int64_t>{1, 0, 1});
}

TEST_CASE(
    "placement: boxes are cut one after the other in shard order, as torch and as Paddle round") {
  const MeshShape mesh{2, 2};
  const Shape shape{5};
  const Placement placement = placed({"S(0)", "S(0)"}, 1);
  const auto interval = [&](const Placement& at, std::int64_t device, Rounding rounding) {
    return box_of(shape, mesh, at, device, rounding)[0];
  };
  // torch.chunk cuts 5 into 3 + 2, then 3 into 2 + 1 and 2 into 1 + 1.
  CHECK(interval(placement, 0, Rounding::kCeil) == Interval{0, 2});
  CHECK(interval(placement, 1, Rounding::kCeil) == Interval{2, 3});
  CHECK(interval(placement, 2, Rounding::kCeil) == Interval{3, 4});
  CHECK(interval(placement, 3, Rounding::kCeil) == Interval{4, 5});
  const Placement turned = placed({"S(0)[1]", "S(0)[0]"}, 1);
  CHECK(interval(turned, 1, Rounding::kCeil) == Interval{3, 4});
  CHECK(interval(turned, 2, Rounding::kCeil) == Interval{2, 3});
  CHECK(box_of({2}, {4}, placed({"S(0)"}, 1), 3, Rounding::kCeil)[0] == Interval{2, 2});
  CHECK(box_of({6}, {4}, placed({"S(0)"}, 1), 3, Rounding::kCeil)[0] == Interval{6, 6});
  CHECK(box_of({6}, {4}, placed({"S(0)"}, 1), 3, Rounding::kBalanced)[0] == Interval{5, 6});
  CHECK(largest_box(shape, mesh, placement) == 2);
  CHECK_FALSE(is_even(shape, mesh, placement));
  CHECK(is_even({8}, mesh, placement));
}

TEST_CASE("moves: what a placement does not have is refused with a sentence") {
  const MeshShape mesh{2, 2, 3};
  const Placement at = placed({"S(0)", "S(0)", "P(sum)"});
  const auto refusal = [&](const Move& move) {
    const Status status = check_move(mesh, {6, 6, 6}, at, move);
    return status.ok() ? std::string() : status.error().message;
  };
  using Kind = Move::Kind;
  CHECK(refusal({Kind::kAllGather, {1}, 0, 0, {}}) == "");
  CHECK(refusal({Kind::kAllGather, {0}, 0, 0, {}}) ==
        "all_gather(0) of dim 0: these are not the innermost axes of dimension 0");
  CHECK(refusal({Kind::kAllGather, {0, 1}, 0, 0, {}}) == "");
  CHECK(refusal({Kind::kAllGather, {1, 0}, 0, 0, {}}) != "");
  CHECK(refusal({Kind::kAllToAll, {1}, 0, 0, {}}) != "");
  CHECK(refusal({Kind::kAllToAll, {1}, 0, 3, {}}) != "");
  CHECK(refusal({Kind::kAllReduce, {2}, 0, 0, ReduceOp::kMax}) != "");
  CHECK(refusal({Kind::kAllReduce, {2}, 0, 0, ReduceOp::kSum}) == "");
  CHECK(refusal({Kind::kSplit, {2}, 0, 1, {}}) != "");
  const auto permute = [](Axes axes, const std::vector<std::string>& words) {
    return Move{Kind::kPermute, std::move(axes), 0, 0, {}, placed(words)};
  };
  CHECK(refusal(permute({0, 1}, {"S(0)[1]", "S(0)[0]", "P(sum)"})) == "");
  CHECK(refusal(permute({0, 1, 2}, {"S(0)[1]", "S(0)[0]", "P(sum)"})) != "");
  CHECK(refusal(permute({0, 2}, {"P(sum)", "S(0)[0]", "S(0)[1]"})) != "");
  CHECK(refusal(permute({0, 1}, {"S(1)", "S(0)", "P(sum)"})) != "");
  CHECK(refusal({Kind::kAllReduce, {}, 0, 0, {}}) != "");
  CHECK(refusal({Kind::kAllReduce, {7}, 0, 0, {}}) != "");
  CHECK(refusal({Kind::kAllReduce, {2, 2}, 0, 0, {}}) != "");
  const Placement whole = placed({"R", "R", "P(max)"});
  CHECK_FALSE(
      check_move(mesh, {6, 6, 6}, whole, {Kind::kToPartial, {0}, 0, 0, ReduceOp::kSum}).ok());
  CHECK(check_move(mesh, {6, 6, 6}, whole, {Kind::kToPartial, {0}, 0, 0, ReduceOp::kMax}).ok());
  CHECK_FALSE(
      check_move(mesh, {6, 6, 6}, placed({"R"}), {Kind::kToPartial, {0}, 0, 0, ReduceOp::kProduct})
          .ok());
}

}  // namespace shardwright::placement_test
