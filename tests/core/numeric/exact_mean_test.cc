// Means that are rounded only once.
#include "core/numeric/exact_mean.h"

#include <vector>

#include <doctest/doctest.h>

namespace shardwright::exact_mean_test {

using shardwright::exact_mean;

TEST_CASE("exact mean: agrees with Python's statistics.mean where a plain sum does not") {
  // Source: Python 3.11, statistics.mean.
  CHECK(exact_mean(std::vector<double>{5.187080286560153, 4.6866192209339275, 19.912896710209257,
                                       9.40527015044896, 16.729229025487776, 9.527064173986698,
                                       12.78136281088324, 3.0123284804704786, 12.697213165703769,
                                       17.360906142865936}) == 11.12999701675502);
  CHECK(exact_mean(std::vector<double>{
            8.422970251328197, 16.669542399922946, 11.480454705791248, 10.682061699788882,
            8.1515172994512, 4.64772953155663, 6.735300225314815, 18.31461592449927,
            0.5732074165941126, 5.593714116661197, 12.116384606253137, 13.911308074459377,
            13.972317406630149, 6.527805770133874, 10.83531884919047, 11.439112062619255}) ==
        10.004585021262173);
  CHECK(exact_mean(std::vector<double>{14.276340403483985, 4.222499673511965,
                                       16.632158605467083}) == 11.710332894154345);
  // The exact mean is half-way between two doubles, so the even one is right.
  CHECK(exact_mean(std::vector<double>{17.93319282855203, 7.5557847882436535, 9.208192656918095,
                                       10.401459691851278, 12.877774367754537, 11.91300476803941,
                                       11.18522124030781}) == 11.582090048809544);
  CHECK(exact_mean(std::vector<double>{6.302817882117216, 16.724100237857755, 11.4967057382444,
                                       17.274552029161473, 6.802193344716192, 16.558928883364388,
                                       1.7106805453088625}) == 10.981425522967184);
  CHECK(exact_mean(std::vector<double>{
            17.794082198659527, 17.23062248052174, 17.159621952277078, 19.419282717557426,
            2.3999264553475186, 4.890678829711199, 0.7028898453130239, 16.059073313132764,
            10.245955575086892, 3.969368919218652, 17.671203300308413, 8.597734805487603,
            0.9871371109998961, 9.620956591561178, 2.416278745505449, 10.063743188960562}) ==
        9.951784751853058);
}

TEST_CASE("exact mean: of one value, and of values that cancel") {
  CHECK(exact_mean(std::vector<double>{0.1}) == 0.1);
  CHECK(exact_mean(std::vector<double>{1e100, 3.0, -1e100}) == 1.0);
  CHECK(exact_mean(std::vector<double>{0.0, 0.0}) == 0.0);
}

}  // namespace shardwright::exact_mean_test
