// Registers every combinational path of a stream, valid, payload and ready, at full rate. Without it, a `ready`
// that starts in the MAC ends in the address of a block RAM, and every module on the way lowers the clock rate.
//
// Two places: `front` is what the sink sees; `spare` takes the one transfer that happens before the source
// learns that the sink waits.
//
// Rules (formal/stream_register_rules.sv):
//   1 the four rules of streams at the output;
//   2 what goes in comes out, once, in order;
//   3 at most two are inside, or one without a spare place.
module stream_register #(
    parameter type T    = logic [7:0],
    // Without it there is no spare place, and at most one transfer every other cycle.
    parameter bit  Full = 1'b1
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic valid_i,
    output logic ready_o,
    input  T     data_i,
    output logic valid_o,
    input  logic ready_i,
    output T     data_o
);
  T front_q, spare_q;
  logic front_valid_q, spare_valid_q;

  assign ready_o = Full ? !spare_valid_q : !front_valid_q;
  assign valid_o = front_valid_q;
  assign data_o  = front_q;

  wire move = !front_valid_q || ready_i;

  always_ff @(posedge clk_i) begin
    // Without a spare place, input is accepted only when front is empty, so ready_i is not needed.
    if (Full ? move : !front_valid_q) front_q <= spare_valid_q ? spare_q : data_i;
    if (move) begin
      front_valid_q <= spare_valid_q || valid_i && ready_o;
      spare_valid_q <= 1'b0;
    end else if (Full && valid_i && ready_o) begin
      spare_valid_q <= 1'b1;
    end
    if (ready_o) spare_q <= data_i;
    if (!rst_ni) begin
      front_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
    end
  end
endmodule
