// Allows the host to send as much as there is room for, and no more, so that nothing is dropped between host
// and module. A credit is room for one beat. At the start, and after `revoke_i`, the module holds all credits.
// It grants them to the host, which uses one per beat of a frame. A beat that leaves the queue frees its credit
// to be granted again.
//
//        grant               use                 free
//   free ─────► outstanding ─────► held (queue) ─────► free
//
// A frame without enough credits is refused whole; the user of `refused_o` counts it.
//
// No grant is taken in a cycle in which a frame asks for credits: two sums in sequence do not fit into one
// cycle.
//
// `revoke_i` takes back the outstanding credits (the host vanished, or started a new session). A grant offered
// in that cycle remains valid. A frame that asks in that cycle is refused.
//
// Rules (formal/credits_rules.sv):
//   1 none lost: free + offered + outstanding + held = Capacity, always;
//   2 never overrun: at most Capacity are held, and a frame is refused if and only if it needs more than is
//     outstanding or the credits are being revoked;
//   3 the rules of streams, for grants.
module credits #(
    parameter int unsigned Capacity = 2048,
    localparam int unsigned Width = $clog2(Capacity + 1)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             revoke_i,
    output logic             grant_valid_o,
    input  logic             grant_ready_i,
    output logic [Width-1:0] grant_o,
    // A frame of `use_i` beats asks to enter.
    input  logic             use_valid_i,
    input  logic [Width-1:0] use_i,
    output logic             refused_o,
    output logic [Width-1:0] outstanding_o,
    // A beat has left the queue.
    input  logic             free_i
);
  logic [Width-1:0] free_q, offered_q, outstanding_q;

  assign grant_valid_o = offered_q != 0;
  assign grant_o       = offered_q;
  assign outstanding_o = outstanding_q;
  // The sign of what would remain says whether the frame is refused.
  wire [Width:0] left = {1'b0, outstanding_q} - {1'b0, use_i};
  assign refused_o     = use_valid_i && (left[Width] || revoke_i);

  wire granted = grant_valid_o && grant_ready_i;
  wire offer = !grant_valid_o && free_q != 0;
  wire [Width-1:0] more = outstanding_q + (grant_ready_i ? offered_q : '0);  // 0 if nothing is offered
  wire [Width-1:0] back = revoke_i ? outstanding_q : '0;
  // free_i is the carry, so that one sum is enough.
  wire [Width:0] all = {offer ? '0 : free_q, 1'b1} + {back, free_i};

  always_ff @(posedge clk_i) begin
    free_q        <= all[Width:1];
    if (revoke_i) outstanding_q <= granted ? offered_q : '0;
    else if (!use_valid_i) outstanding_q <= more;
    else if (!left[Width]) outstanding_q <= left[Width-1:0];
    if (offer) offered_q <= free_q;
    else if (granted) offered_q <= '0;
    if (!rst_ni) begin
      free_q        <= Width'(Capacity);
      offered_q     <= '0;
      outstanding_q <= '0;
    end
  end
endmodule
