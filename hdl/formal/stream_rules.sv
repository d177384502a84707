// The four rules of every stream, written once:
//
//   1 a transfer happens when valid and ready are both high (the meaning of the word in every other file);
//   2 once valid is high, valid and payload hold until the transfer;
//   3 valid never waits for ready: it comes while ready has never been high (a cover);
//   4 ready is free: it may be high before valid, and may fall again without a transfer (a cover).
//
// Assume = 1 assumes rule 2 at inputs, 0 asserts it at outputs. Covers are checked at outputs only. FreeReady =
// 0 omits that of rule 4, where the sink is known to wait for valid.
module stream_rules #(
    parameter bit          Assume = 1'b0,
    parameter int unsigned Width  = 1,
    parameter bit          FreeReady = 1'b1
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             valid_i,
    input logic             ready_i,
    input logic [Width-1:0] data_i
);
  logic past_q = 1'b0;
  logic valid_q, ready_q;
  logic ever_ready_q = 1'b0;
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i) begin
    past_q  <= rst_ni;
    valid_q <= valid_i;
    ready_q <= ready_i;
    data_q  <= data_i;
    ever_ready_q <= ever_ready_q || (rst_ni && ready_i);
  end

  wire waits = past_q && rst_ni && valid_q && !ready_q;

  if (Assume) begin : gen_assume
    always_comb begin
      if (waits) begin
        assume (valid_i);
        assume (data_i == data_q);
      end
    end
  end else begin : gen_assert
    always_comb begin
      if (waits) begin
        rule_valid_holds : assert (valid_i);
        rule_payload_holds : assert (data_i == data_q);
      end
      cover (past_q && valid_i && !ready_i && !ever_ready_q);
      if (FreeReady) cover (past_q && ready_q && !valid_q && !ready_i);
    end
  end
endmodule
