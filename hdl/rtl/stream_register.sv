// Cuts every combinational path of a stream, valid, payload and ready, at full rate: without it a `ready` that begins in the MAC ends
// in the address of a block RAM, and the clock falls with each module on the way.
//
// Two places: `front` is what the sink sees; `spare` takes the one transfer that happens before the source learns that the sink waits.
//
// Rules (formal/stream_register_rules.sv): 1 the four rules of streams at the output; 2 what goes in comes out, once, in order;
// 3 at most two are inside, one if there is no spare place.
module stream_register #(
    parameter type T    = logic [7:0],
    // Otherwise there is no spare place, and a transfer in every other cycle.
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
    // Without a spare place what comes finds it empty: whether the sink takes need not be known.
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
